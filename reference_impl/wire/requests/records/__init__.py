"""Handles the requests that write, read, locate and delete records."""
