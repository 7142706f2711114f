"""Runs test suites of other projects against the reference broker; writes a page of the results."""
