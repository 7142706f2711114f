"""The audit of log directories: checks of the files that brokers write.

A check is a function that takes `Logs` and returns the violations. It is written to be simple, not
to be fast. Tests compare each check with its fast implementation in `checkers/log_dirs`.
"""
