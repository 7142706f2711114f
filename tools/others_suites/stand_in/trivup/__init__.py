"""Replaces the package trivup, with which the tests of confluent-kafka-python start clusters."""
