"""Histories as they are stored: our recorder's, Parquet, NDJSON, Jepsen's EDN."""
