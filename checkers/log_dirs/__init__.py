"""The audit of log directories: reads the files that brokers store for their replicas, and
checks these files.
"""
