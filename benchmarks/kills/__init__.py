"""Kills clusters of the reference broker by SIGKILL under load, and looks for lost records."""
