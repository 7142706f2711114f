"""Linearizability: no operation may return a lower offset than was known before it began."""
