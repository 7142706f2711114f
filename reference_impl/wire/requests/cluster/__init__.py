"""Requests about the cluster, its users, and features that are switched off, answered as by Kafka
with these off.
"""
