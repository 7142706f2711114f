"""The hunt for unreported defects of Apache Kafka: random runs on new clusters, and a record of all
runs.
"""
