"""Linearizability: no operation returns a lower offset than was observed before it began."""
