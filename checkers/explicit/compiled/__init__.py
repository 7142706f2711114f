"""The compiled engine: breadth-first search with C code that is generated for the actions of a
spec.
"""
