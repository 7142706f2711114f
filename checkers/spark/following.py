"""A verdict that is kept while a recording grows.

Structured Streaming watches the folder: of a file source over its Parquet parts a batch comes
when parts have come. The history is then decided as it stands, its tail included, as if the
recorder had been killed at that moment: that is a history like any other, in which what is open has
the outcome `info` and comes last. So it is too when no part has come, but the tail has grown.

What is carried on from one verdict to the next is the session, with its Java and its workers warm,
and which parts have come. Everything is decided again: what was sent long ago may be read only now,
and what was told of a log may be contradicted. A verdict that takes long makes the next come later;
none waits in a queue.

Simplified: the stream tells that parts have come; tasks read them, as they always do.
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

LOOKS_EVERY_S: Final = 1.0  # for parts, and for the end
TAIL_EVERY_S: Final = 5.0  # a tail that has grown is looked at as often


def growths(history: Path, spark: SparkSession) -> Generator[None]:
    """Tells again and again that a recording has grown, until it has no tail: it has ended.

    UnreadableHistory where none is.
    """
    recorded.metadata(history)
    told, length = -TAIL_EVERY_S, -1
    with _arrivals(history, spark) as arrived:
        while any(_tails(history)):
            came, grown = _came(arrived), _tail_length(history)
            if came or (grown != length and time.monotonic() - told > TAIL_EVERY_S):
                told, length = time.monotonic(), grown
                yield


@contextmanager
def _arrivals(history: Path, spark: SparkSession) -> Generator[SimpleQueue[int]]:
    """Gets the number of each batch of the stream: there is one only where parts have come."""
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
            .trigger(processingTime=f"{LOOKS_EVERY_S} seconds")
            .start()
        )
        try:
            yield arrived
        finally:
            query.stop()


def _came(arrived: SimpleQueue[int]) -> bool:
    """Whether parts have come since it was last asked; it waits a while for them."""
    came = False
    try:
        arrived.get(timeout=LOOKS_EVERY_S)
        while came := True:
            arrived.get_nowait()
    except Empty:
        return came


def _tail_length(history: Path) -> int:
    """Bytes of the tails that are there now."""
    return sum(map(_length, _tails(history)))


def _tails(history: Path) -> Iterator[Path]:
    return history.glob("tail-*.ndjson")


def _length(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # a part has taken its place
        return 0
