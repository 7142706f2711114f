"""Cycles of dependencies between operations."""
