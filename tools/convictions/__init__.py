"""Searches for false positives: anomalies that `urteil analyze` reports wrongly."""
