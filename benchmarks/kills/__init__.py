"""Kills clusters of the reference broker under load by SIGKILL, and looks for lost records."""
