"""A Kafka topic of operations as a history: its records are copied to Parquet files."""
