"""Transactions: torn, read while open, and written by fenced producers."""
