"""The reference broker on the wire: Kafka's protocol over TCP, in front of the sans-I/O nodes."""
