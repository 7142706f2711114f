"""Trials: the programs of the suites, run in real time on a system under test."""
