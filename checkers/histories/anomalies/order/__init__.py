"""The order in which processes poll and send the records of a log.

A *step* is two records of a key that a process polled (or sent) one directly after the other.
"""
