"""Faults of a served cluster: rules as data, the requests that they select, and what they do."""
