"""The audit of log directories: checks of brokers' files, written to be simple, not fast.

A check is a function from `Logs` to violations. Each violation has its location: replica, topic
partition, segment file, byte and offset. Tests compare each check with its fast implementation in
`checkers/log_dirs`.
"""
