"""Explicit-state model checking: breadth-first search of all reachable states of a spec.

The search needs a *scope*: the number of elements of each sort (a finite type), such as 3 replicas.
A term is *undefined* in a state if one of its values is outside its type, such as 5 in the type
0..4. An undefined term in a reachable state is an error of the spec.
"""
