"""Counterexamples on real brokers: directed schedules of requests and faults."""
