"""Explicit-state model checking: breadth-first search of all reachable states.

The search needs a scope: the number of elements of each sort, such as 3 replicas.
"""
