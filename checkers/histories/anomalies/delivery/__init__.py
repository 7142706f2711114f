"""Delivery semantics of applications: records delivered again, and records skipped."""
