"""Makes the log directories of `tests/data/apache_kafka`, with a real cluster of Apache Kafka."""
