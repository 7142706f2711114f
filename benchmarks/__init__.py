"""Measures every performance claim against a peer or a baseline in the same run, as a ratio."""
