"""The query plans that find anomalies, in the same families as in `properties.anomalies`.

The terms of all these modules:

    key           a topic partition; its records are a log
    batch         a part of the history's rows, in the order of completion; no record batch
    block         65,536 offsets of a key; a shuffle brings all their sends and polls into one batch
    kernel        a function from a batch to a table
    unconfirmed   of a value: polled at an offset where no send of it was acknowledged
    step          two records of a key that a process polled (or sent) one directly after the other
    register      the committed offset of one group and key
"""
