"""The runtime of the nodes of one process: clock, timers, messages, waiting requests."""
