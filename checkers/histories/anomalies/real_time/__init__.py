"""Linearizability: no operation may return a lower offset than was observed before it began."""
