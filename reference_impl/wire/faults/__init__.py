"""Faults of a cluster: fault rules as data, the requests that they select, and what they do."""
