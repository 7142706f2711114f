"""A campaign that looks for false convictions: anomalies that `urteil analyze` reports wrongly."""
