"""Starts and stops a served cluster, in one process or with a process for each broker."""
