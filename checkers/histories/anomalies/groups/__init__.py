"""The query plans for the committed offsets of consumer groups, and for pipelines that consume
and produce.
"""
