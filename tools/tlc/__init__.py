"""Runs TLC on exported specs, and compares its results with those of Urteil's explorer."""
