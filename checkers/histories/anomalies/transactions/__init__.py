"""Anomalies of transactions: read in part, read while open, or written by a replaced producer."""
