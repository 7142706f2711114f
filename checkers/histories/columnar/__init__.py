"""Columns of integers and texts in NumPy and Arrow: hashing, sorting, searching, bitsets."""
