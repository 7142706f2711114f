"""Anomalies of transactions: read in part, read while open, or sent by a replaced producer."""
