"""The reference broker over TCP: Kafka's wire protocol in front of the nodes."""
