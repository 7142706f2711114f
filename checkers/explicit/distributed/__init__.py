"""A breadth-first search whose states are divided among machines."""
