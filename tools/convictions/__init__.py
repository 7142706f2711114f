"""A campaign that looks for false positives: anomalies that `urteil analyze` reports wrongly."""
