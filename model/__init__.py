"""The specs of Kafka, the language in which they are written, and histories of clients.

A spec is a state machine, as in TLA+. A history has the operations that clients called, and their
results.
"""
