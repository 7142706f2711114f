"""The audit of log directories: rules for the files of brokers, written to be simple, not fast.

A check is a function from `Logs` to violations. Each violation has its location: replica, topic
partition, segment file, byte and offset. Tests compare the check with the fast implementation in
`checkers/log_dirs`.
"""
