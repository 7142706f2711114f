"""Verdicts over time: the store of runs, their comparison, the baseline of known violations."""
