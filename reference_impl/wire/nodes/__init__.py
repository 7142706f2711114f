"""Runs the nodes of one process: their clock, timers, messages and waiting requests."""
