"""Handles the requests that create and delete topics, add partitions, move replicas and elect
leaders.
"""
