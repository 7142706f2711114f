"""Counterexamples of buggy specs, replayed on the reference broker with the same bug."""
