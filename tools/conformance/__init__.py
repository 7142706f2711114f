"""Compares systems with the reference broker, and records how their responses differ."""
