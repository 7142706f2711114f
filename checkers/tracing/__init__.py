"""Trace validation of real brokers: their TRACE logs, followed through a spec of `model`.

log_lines       lines of log files, merged by the clock that all nodes share
line_table      which line is which event, and which lines are nothing
registrations   the controller's registration of a partition, from the lines of its changes
replication     the events of one partition as actions of `replication-abstract`
following       takes the events one by one; looks ahead where a line came late
mutants         traces with one mutation, which must be rejected
"""
