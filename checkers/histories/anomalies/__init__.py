"""The inquiries that decide anomalies, in families as `properties.anomalies` has them."""
