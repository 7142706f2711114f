"""Handles requests about the cluster, its users, and features that are switched off."""
