"""Keeps the pauses of a broker's process short: fewer page faults and garbage collections."""
