"""The reference broker: a deterministic Kafka without I/O in its core, independent of the specs.

The folders are layers, in this order: protocol; node; log; partition, transactions and groups;
broker and controller; disk; simulation and wire. A folder uses only folders of earlier layers. The
folders simulation and wire run the nodes.
"""
