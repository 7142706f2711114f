"""Handlers of the requests about the cluster: metadata, its state, users, switched-off features."""
