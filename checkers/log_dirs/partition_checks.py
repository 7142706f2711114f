"""Runs the checks that need only one topic partition, with all its replicas.

Simplified: the headers of a topic partition's batches must fit into memory. They take about 200
bytes for each batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from checkers.log_dirs import one_log, producers, replicas, snapshots
from checkers.log_dirs.columns import Log
from checkers.log_dirs.folders import LogDirs
from checkers.log_dirs.one_log import Found
from checkers.log_dirs.replicas import Numbered

FOUND: Final = pa.schema(
    [
        ("check", pa.string()),
        ("observations", pa.int64()),
        ("rows", pa.binary()),  # an Arrow stream
    ]
)


def check_partition(partition: int, rows: pa.Table, dirs: LogDirs) -> pa.Table:
    """Runs all checks that need only one topic partition. Returns their results as a table with
    the schema FOUND. `rows` has the record batches of all replicas of the partition.
    """
    logs = _logs(partition, rows, dirs)
    cleaned = [n.log.metadata.cleaned_to for n in logs]
    cleaned += [n.log.newest_base for n in logs if n.log.compacted]
    found = [one for n in logs for one in _of_one_log(n.log, max(cleaned))]
    found.append(producers.open_at_end(max(logs, key=lambda n: n.log.end[0]).log))
    found.append(replicas.suspects(partition, logs))
    newest = (n.log.of["max_timestamp_ms"][n.log.sound].max(initial=0) for n in logs)
    found.append(_counted("newest_ms", int(max(newest))))
    found.append(_counted("batches", sum(int(n.log.is_batch.sum()) for n in logs)))
    return _packed(found)


def _counted(name: str, number: int) -> Found:
    return Found(check=name, observations=number, rows=pa.table({}))


def _logs(partition: int, rows: pa.Table, dirs: LogDirs) -> list[Numbered]:
    of_log = rows["log"].to_numpy()
    return [
        Numbered(
            number=number,
            log=Log(
                dirs.logs[number],
                dirs.first_segments[number],
                rows.filter(pa.array(of_log == number)),
            ),
        )
        for number in dirs.partitions[partition].logs
    ]


def _of_one_log(log: Log, cleaned_to: int) -> Iterator[Found]:
    yield from one_log.integrity(log)
    yield from one_log.offsets(log, cleaned_to)
    yield from one_log.leader_epochs(log)
    yield one_log.end(log)
    yield from producers.sequences(log)
    yield from producers.epochs(log)
    yield from producers.transactions(log)
    yield producers.aborted_index(log)
    yield snapshots.producer_snapshot(log)


def compare_records(partition: int, rows: pa.Table, suspects: pa.Table, dirs: LogDirs) -> pa.Table:
    """Returns the records that differ between the replicas of a partition, as a table with the
    schema FOUND. Only the records of the batches in `suspects` are compared.
    """
    its = suspects.filter(pa.array(suspects["partition"].to_numpy() == partition))
    return _packed([replicas.compare_suspects(rows, its, dirs)])


def _packed(found: Sequence[Found]) -> pa.Table:
    return pa.table(
        {
            "check": [one.check for one in found],
            "observations": [one.observations for one in found],
            "rows": [_stream(one.rows) for one in found],
        },
        schema=FOUND,
    )


def _stream(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    return bytes(sink.getvalue())


def unpacked(found: pa.Table, check: str) -> Found:
    """Returns the result of one check on all topic partitions, merged from the results on single
    topic partitions in `found`.
    """
    its = found.filter(pa.array(found["check"].to_numpy(zero_copy_only=False) == check))
    streams = (pa.ipc.open_stream(rows).read_all() for rows in its["rows"].to_pylist())
    tables = [table for table in streams if table.num_columns]
    return Found(
        check=check,
        observations=sum(its["observations"].to_pylist()),
        rows=pa.concat_tables(tables) if tables else pa.table({}),
    )
