"""Handles the requests to the coordinators of groups and of transactions."""
