"""Committed offsets of groups, and pipelines."""
