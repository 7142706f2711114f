"""Reads a history from a Kafka topic: copies the topic's records to Parquet files."""
