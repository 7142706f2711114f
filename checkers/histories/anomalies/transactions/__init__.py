"""Transactions that were read in part, read while open, or written by a replaced producer."""
