"""The query plans for the rules of a log: each offset has one value, each value has one offset,
and no value is lost.
"""
