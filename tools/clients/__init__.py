"""Runs real Kafka clients against the served broker, and prints which scenarios each passes."""
