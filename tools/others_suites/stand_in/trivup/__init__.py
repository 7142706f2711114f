"""Replaces the package trivup, with which confluent-kafka-python's tests start clusters."""
