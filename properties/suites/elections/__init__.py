"""The suite `elections`: claims on the ISR, the leaders and committed records, under faults."""
