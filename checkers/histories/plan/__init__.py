"""Query plans over a history: the stages that decide an anomaly, and their execution.

A plan is a generator. It collects the answer of a stage, and may use this answer to make the next
stage. At the end it returns its findings:

    def offsets_above(limit: int) -> Plan[tuple[int, int]]:
        highest = yield from collect(Stage(Source.OPERATIONS, highest_offset_kernel, highest_of))
        rows = yield from collect(Stage(Source.OPERATIONS, rows_kernel(min(limit, highest))))
        return highest, rows.num_rows

    kernel      a function from a batch of rows to a small table; workers execute it
    stage       a kernel and its source; `collect` returns the stage's answer to the plan
    scheduler   executes plans: stages that are ready on one source become one pass over the source
    dataset     a source in partitions, in this process or on Spark

Plans run in this process, or in Spark's driver. The history is shuffled once, into two sources. In
`RECORD_LOCATIONS`, the shuffle key is the key of a record and a block of offsets. In `SENDS`, it is
the value of a record.
"""
