"""Runs TLC on exported specs, and compares its results with the results of Urteil's explorer."""
