"""The suite `elections`: it checks claims on the ISR, the leaders and committed records, under
faults.
"""
