"""The audit of log directories: checks of brokers' files, written to be simple, not fast.

A check is a function from `Logs` to violations. Tests compare each check with its fast
implementation in `checkers/log_dirs`.
"""
