"""The query plans for the anomalies of transactions.

There are three kinds: a transaction is read only in part, it is read before its end, or a replaced
producer writes it.
"""
