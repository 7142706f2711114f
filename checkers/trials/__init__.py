"""Suites in real time: the programs of the suites, run against a system under test."""
