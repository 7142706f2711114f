"""Linearizability: no operation may return less than was known before it began."""
