"""Runs real Kafka clients against the reference broker, and prints which scenarios each passes."""
