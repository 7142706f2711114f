"""The faults of a cluster: rules as data, the requests that rules select, and the effects of
faults.
"""
