"""The reference broker over TCP, with Kafka's wire protocol."""
