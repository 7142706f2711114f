"""Verdicts over time: the store of runs, the comparison of runs, and the baseline of known
violations.
"""
