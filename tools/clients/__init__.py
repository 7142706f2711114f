"""Runs real Kafka clients against the reference broker, and records which scenarios each client
passes.
"""
