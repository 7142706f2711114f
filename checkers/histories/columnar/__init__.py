"""Functions on columns of integers and texts in NumPy and Arrow: hashing, sorting, searching,
and bitsets.
"""
