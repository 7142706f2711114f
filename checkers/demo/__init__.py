"""A history in Jepsen's notation that shows three anomalies: small enough to read."""
