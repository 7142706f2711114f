"""Benchmarks for every claim about performance, as ratios to another tool or to a baseline."""
