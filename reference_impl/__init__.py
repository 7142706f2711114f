"""The reference broker: a deterministic Kafka without I/O in its core, independent of the specs.

The folders have an order: protocol, node and log; then partition, transactions and groups; then
broker and controller. Each folder uses only folders before it. simulation/ and wire/ run the nodes.
"""
