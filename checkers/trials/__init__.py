"""Trials: run the programs (lists of calls) of the suites in real time on a system under test."""
