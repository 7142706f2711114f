"""Contains the systems under test: the reference broker (Urteil's own broker), Apache Kafka, and
any other running cluster.
"""
