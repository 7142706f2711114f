"""Stands in for trivup's package of the same name, which starts clusters for tests."""
