"""The query plans that find anomalies, grouped as in `properties.anomalies`.

All these modules use the following terms:

    key           a topic partition; its records are a log
    batch         a part of the history's rows, in the order of completion; it is no record batch
    block         65,536 offsets of a key; a shuffle brings all their sends and polls into one batch
    kernel        a function from a batch to a table
    unconfirmed   of a value: polled at an offset where no send of the value was acknowledged
    step          two records of a key that a process polled (or sent) one directly after the other
    register      the committed offset of one group and key
"""
