"""The property suite `log`: a set of claims, and generated runs that can break them.

In its runs, several writers and readers use a log while its leaders change.
"""
