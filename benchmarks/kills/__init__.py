"""Kills clusters of the reference broker by SIGKILL under load, and searches for lost records."""
