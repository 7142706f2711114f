"""Decides claims (Kafka's guarantees) by trials on a running system, and records the verdicts."""
