"""Readers of stored histories: recorded folders, Parquet, NDJSON and Jepsen's EDN."""
