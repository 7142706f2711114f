"""Reads a history from a Kafka topic, by a copy of the topic's records to Parquet files."""
