"""Decides claims by trials on a running system, and records the verdicts."""
