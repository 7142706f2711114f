"""Shortens the pauses of a broker's process: it has fewer page faults and garbage collections."""
