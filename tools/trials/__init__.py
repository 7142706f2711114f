"""Decides claims (Kafka's guarantees) by test runs on a real system, and records the verdicts."""
