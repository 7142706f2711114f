"""Explicit-state model checking: breadth-first search of all reachable states at a finite scope."""
