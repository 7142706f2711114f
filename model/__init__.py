"""The specs of Kafka, the language in which the specs are written, and histories of clients.

A spec is a state machine, as in TLA+. A history contains the operations that clients called, with
their results.
"""
