"""The property suite `delivery`: a set of claims, and generated runs that can break them.

In its runs, consumer applications with a database are killed or paused at any step.
"""
