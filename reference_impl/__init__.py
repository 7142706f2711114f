"""The reference broker: a deterministic Kafka without I/O in its core, independent of the specs.

Each folder uses only those before it: protocol, node, log, then partition, transactions and groups,
then broker and controller. simulation/ and wire/ run the nodes.
"""
