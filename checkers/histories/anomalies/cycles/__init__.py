"""Cycles of operations that depend on each other."""
