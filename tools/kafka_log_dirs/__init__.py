"""Creates the log directories in `tests/data/apache_kafka`, with a real cluster of Apache Kafka."""
