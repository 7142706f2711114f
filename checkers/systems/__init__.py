"""The systems that can be put on trial: the reference broker, Apache Kafka, any cluster."""
