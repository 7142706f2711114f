"""Committed offsets of consumer groups, and pipelines that consume and produce."""
