"""The audit of log directories: rules for the files of brokers, with literal definitions.

A check is a function from `Logs` to rows with the location of each fault: replica, topic partition,
segment file, byte and offset. The definitions are the oracles of the fast implementations in
`checkers/log_dirs`.
"""
