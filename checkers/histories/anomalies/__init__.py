"""The query plans that find anomalies, in the same families as in `properties.anomalies`."""
