"""Explores every variant of a spec with a bug or of an old version, and records the verdict on its
claim.
"""
