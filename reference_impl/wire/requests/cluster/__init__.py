"""Handlers of requests about the cluster and its users, and about features that are switched off.

A request about such a feature is answered as by a Kafka broker on which the feature is switched
off.
"""
