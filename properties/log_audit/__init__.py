"""The audit of log directories: statements about brokers' files, with literal definitions.

A history shows what clients observed; these checks read what the replicas stored. A check takes
`Logs`, may read them any number of times, and returns rows with the location of each fault:
replica, topic partition, segment file, byte and offset. The definitions are the oracles of the fast
kernels in `checkers/log_dirs`.
"""
