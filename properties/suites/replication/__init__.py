"""The property suite `replication`: a set of claims, and generated runs that can break them.

In its runs, one producer publishes to a replicated log under faults.
"""
