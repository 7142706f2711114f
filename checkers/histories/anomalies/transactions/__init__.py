"""Transactions whole, closed, and by who may write them."""
