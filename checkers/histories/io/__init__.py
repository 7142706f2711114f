"""Reads stored histories: recorded folders, Parquet, NDJSON, Avro, Jepsen's EDN, and Delta and
Iceberg tables.
"""
