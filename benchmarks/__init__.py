"""Benchmarks of every performance claim, as ratios to a peer or a baseline of the same run."""
