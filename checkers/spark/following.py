"""Detects that a recording has grown, so that the verdict on the recording can be updated.

A recording is a folder with Parquet files, called *parts*, and with a *tail*: a file of the newest
operations. Structured Streaming detects new parts. The length of the tail is compared every second.

All anomalies are decided a second time on the whole history, because new operations can contradict
old operations: a client may now read a record that was sent long ago.

Simplified: the stream only signals that parts arrived. Tasks read the parts from the files.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from checkers.histories.io import recorded

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

POLL_INTERVAL_S: Final = 1.0  # for new parts, and for the end of the recording
TAIL_INTERVAL_S: Final = 5.0  # least time between two verdicts if only the tail grows


def growths(history: Path, spark: SparkSession) -> Generator[None]:
    """Yields None each time the recording has grown, until the recording ends.

    Raises UnreadableHistory if the folder has no recording.
    """
    recorded.metadata(history)
    last_verdict, length = -TAIL_INTERVAL_S, -1
    with _arrivals(history, spark) as arrived:
        while any(_tails(history)):
            new_parts, grown = _has_arrived(arrived), _tail_length(history)
            if new_parts or (grown != length and time.monotonic() - last_verdict > TAIL_INTERVAL_S):
                last_verdict, length = time.monotonic(), grown
                yield


@contextmanager
def _arrivals(history: Path, spark: SparkSession) -> Generator[SimpleQueue[int]]:
    arrived: SimpleQueue[int] = SimpleQueue()

    def batch(parts: DataFrame, number: int) -> None:
        del parts  # a job here could be interrupted when the stream ends
        arrived.put(number)

    stream = spark.readStream.schema("op long").option("pathGlobFilter", "part-*.parquet")
    files = stream.parquet(str(history)).select("_metadata.file_path")
    with tempfile.TemporaryDirectory(prefix="urteil-follow-") as kept:
        query = (
            files.writeStream.foreachBatch(batch)
            .option("checkpointLocation", kept)
            .trigger(processingTime=f"{POLL_INTERVAL_S} seconds")
            .start()
        )
        try:
            yield arrived
        finally:
            query.stop()


def _has_arrived(arrived: SimpleQueue[int]) -> bool:
    any_arrived = False
    try:
        arrived.get(timeout=POLL_INTERVAL_S)
        while any_arrived := True:
            arrived.get_nowait()
    except Empty:
        return any_arrived


def _tail_length(history: Path) -> int:
    return sum(map(_length, _tails(history)))


def _tails(history: Path) -> Iterator[Path]:
    return history.glob("tail-*.ndjson")


def _length(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # a part has replaced the tail
        return 0
