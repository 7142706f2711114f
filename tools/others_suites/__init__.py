"""Runs test suites of other projects against the reference broker, and writes a page of the
results.
"""
