"""Test suites of other projects, run against the served broker, and the page of their results."""
