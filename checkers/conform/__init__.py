"""Conformance: sends the same raw requests to two systems, and explains every difference."""
