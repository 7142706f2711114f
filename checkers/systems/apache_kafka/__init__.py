"""Starts clusters of Apache Kafka on this machine, in any version that Maven offers."""
