"""Fault rules as data, the requests that they select, and the effects of faults."""
