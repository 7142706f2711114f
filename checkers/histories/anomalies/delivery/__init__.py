"""The query plan for the delivery semantics of applications: the records that they received
twice or skipped.
"""
