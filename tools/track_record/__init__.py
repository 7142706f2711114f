"""Explores every bug and old version of the specs, and records what catches it."""
