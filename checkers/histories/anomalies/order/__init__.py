"""The query plans for the order in which processes poll and send the records of a log.

A *step* is two records of a key (topic partition) that a process polled (or sent) one directly
after the other.
"""
