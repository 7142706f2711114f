"""The property suite `groups`: a set of claims, and generated runs that can break them.

In its runs, members of a consumer group join, leave, die and pause.
"""
