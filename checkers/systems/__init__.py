"""The systems under test: the reference broker, Apache Kafka, or any other running cluster."""
