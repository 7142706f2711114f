"""The property suite `retention`: a set of claims, and generated runs that can break them.

In its runs, readers leave and return while old records are deleted.
"""
