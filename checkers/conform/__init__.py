"""Conformance: the same raw requests to two systems, and a reason for every difference."""
