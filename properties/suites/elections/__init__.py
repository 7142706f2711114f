"""The suite `elections`: the in-sync set, the leaders and the committed records, under faults."""
