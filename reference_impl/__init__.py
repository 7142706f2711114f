"""The reference broker: a deterministic Kafka without I/O in its core, independent of the specs.

Each folder uses only folders before it: protocol, node and log; partition, transactions and groups;
broker and controller. The folders simulation and wire run the nodes.
"""
