"""Runs TLC on exported specs, and compares its results with the explorer's."""
