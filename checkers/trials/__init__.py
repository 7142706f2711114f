"""Trials: test runs of the suites, in real time on a running cluster. Each is a list of calls."""
