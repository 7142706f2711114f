"""Clusters of Apache Kafka on this machine, of any version that Maven has."""
