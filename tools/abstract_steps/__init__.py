"""Counts how often explored specs, simulated brokers and real ones take each proved action."""
