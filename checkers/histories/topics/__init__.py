"""Reads a history from a Kafka topic. It copies the records of the topic to Parquet files."""
