"""Defines and executes query plans, which search a history for the occurrences of an anomaly.

A plan is a generator that consists of stages. The plan collects the result of a stage, and may use
this result to make the next stage. At its end, the plan returns its findings:

    def offsets_above(limit: int) -> Plan[tuple[int, int]]:
        highest = yield from collect(Stage(Source.OPERATIONS, highest_offset_kernel, highest_of))
        rows = yield from collect(Stage(Source.OPERATIONS, rows_kernel(min(limit, highest))))
        return highest, rows.num_rows

These are the terms of this package:

    kernel      a function from a batch of rows to a small table; workers execute it
    stage       a kernel and its source; `collect` returns the stage's result to the plan
    scheduler   executes plans: all stages that are ready on one source become one pass over it
    dataset     a source in partitions, in this process or on Spark

Plans are executed in this process, or in Spark's driver. The history is shuffled a single time,
into two sources. In `RECORD_LOCATIONS`, the shuffle key has the key of a record and a block of
offsets. In `SENDS`, the shuffle key is the value of a record.
"""
