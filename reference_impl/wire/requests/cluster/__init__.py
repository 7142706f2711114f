"""Requests about the cluster, its users, and features that are switched off, as in Kafka."""
