"""Contains the systems under test: the reference broker, Apache Kafka, and any other running
cluster.
"""
