"""Benchmarks of every performance claim, as ratios to another tool or a baseline."""
