"""The audit of log directories: rules for the files of brokers, written to be simple, not fast.

A check is a function from `Logs` to rows with the location of each fault: replica, topic partition,
segment file, byte and offset. Tests compare it with the fast implementation in
`checkers/log_dirs`.
"""
