"""The query plans for the anomalies of transactions.

A transaction is read in part, it is read before its end, or a replaced producer writes it.
"""
