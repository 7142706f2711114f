"""Starts clusters of Apache Kafka on this machine. A cluster can have any version from 3.5.0 on
that Maven offers.
"""
