"""Measures the audit of log directories: NumPy against plain Python, and in-process against Spark.

The data are three replicas of eight topic partitions, written by idempotent producers. Half of the
batches are compressed with zstd. The reader in plain Python is the slow definition to which tests
compare the fast reader. It is timed on one segment.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from benchmarks.pairs import Pairing, paired
from checkers.log_dirs import segments
from checkers.log_dirs.audit import audit
from checkers.log_dirs.folders import log_dirs
from checkers.spark.log_dirs import audit_on_spark
from checkers.spark.session import session
from properties.log_audit.log import Batch, LogMetadata, Logs, Record, ReplicaLog
from tests.checkers.log_dirs import plain, writing
from tests.properties.log_audit.notation import segment

BATCHES = 3_000
RECORDS = 100  # in a batch
BYTES = 100  # in a record's value
PARTITIONS = 8
REPLICAS = ("A", "B", "C")
ZSTD = 4


def run() -> list[Pairing]:
    with tempfile.TemporaryDirectory() as base:
        folders = synthetic_log_dirs(Path(base))
        dirs = log_dirs(folders)
        file, total = dirs.segments[0], len(dirs.logs) * BATCHES * RECORDS
        read = sum(rows.num_rows for rows in segments.batches(file))
        assert read == len(list(plain.read(file.path.name, file.path.read_bytes()))) == BATCHES
        one = BATCHES * RECORDS
        by_reader = paired(
            (f"one segment, {one:,} records, NumPy", lambda: list(segments.batches(file))),
            (
                "the same in plain Python",
                lambda: list(plain.read(file.path.name, file.path.read_bytes())),
            ),
            runs=3,
        )
        with session():
            assert audit(folders) == audit_on_spark(folders)
            by_engine = paired(
                (f"audit of {total:,} records, in-process", lambda: audit(folders)),
                ("on Spark, a session that runs", lambda: audit_on_spark(folders)),
                runs=3,
            )
        return [by_reader, by_engine]


def synthetic_log_dirs(base: Path) -> list[Path]:
    """Writes the log directories of three synthetic brokers, and returns their paths."""
    batches = tuple(_batch(number) for number in range(BATCHES))
    metadata = LogMetadata(
        replica="A",
        partition="t-0",
        segments=(segment(0),),
        high_watermark=BATCHES * RECORDS,
        leader_epochs=((0, 0),),
    )
    log = ReplicaLog(metadata=metadata, batches=batches)
    (first,) = writing.write(Logs(replicas=(log,)), base, [0, ZSTD])
    for number in range(1, PARTITIONS):
        shutil.copytree(first / "t-0", first / f"t-{number}")
    marks = [f"t {number} {BATCHES * RECORDS}" for number in range(PARTITIONS)]
    checkpoint = "\n".join(["0", str(PARTITIONS), *marks]) + "\n"
    (first / "replication-offset-checkpoint").write_text(checkpoint)
    return [first, *(Path(shutil.copytree(first, base / name)) for name in REPLICAS[1:])]


def _batch(number: int) -> Batch:
    begins = number * RECORDS
    offsets = range(begins, begins + RECORDS)
    return Batch(
        segment=segment(0),
        position=0,
        size=0,
        base_offset=begins,
        last_offset=offsets[-1],
        leader_epoch=0,
        producer_id=number % 4,
        producer_epoch=0,
        base_sequence=number // 4 * RECORDS,
        records=tuple(Record(offset=o, content=f"{o:0{BYTES}}") for o in offsets),
    )
