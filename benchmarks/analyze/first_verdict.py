"""The analysis: a history of 10,000 sends on Spark, session start included, against in-process."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.pairs import Pairing, paired
from checkers.histories.analysis import analyze
from checkers.histories.recorded import as_table
from checkers.spark.run import analyze_on_spark
from model.histories import Operation, Poll, Send

SENDS = 10_000
POLLED = 100  # records at once
KEYS = 8


def run() -> list[Pairing]:
    with tempfile.TemporaryDirectory() as folder:
        history = Path(folder) / "history.parquet"
        pq.write_table(as_table(operations()), history)
        ours, theirs = analyze(history), analyze_on_spark(history)
        assert [d.verdict for d in ours.decisions] == [d.verdict for d in theirs.decisions]
        return [
            paired(
                (f"in-process, {SENDS:,} sends", lambda: analyze(history)),
                ("on Spark, session included", lambda: analyze_on_spark(history)),
                runs=3,
            )
        ]


def operations() -> list[Operation]:
    """A clean history: sends in turn over the keys, and a reader that follows."""
    done: list[Operation] = []
    for number in range(SENDS):
        key, offset, at_ns = f"k-{number % KEYS}", number // KEYS, number * 1_000
        sent = Send(key, str(number), offset)
        done.append(_ok(number % 4, "send", at_ns, (sent,)))
        if (number + 1) % POLLED == 0:
            seen = range(number + 1 - POLLED, number + 1)
            polled = tuple(Poll(f"k-{n % KEYS}", n // KEYS, str(n)) for n in seen)
            done.append(_ok(4, "poll", at_ns + 500, polled))
    return done


def _ok(process: int, f: str, at_ns: int, did: tuple[Send | Poll, ...]) -> Operation:
    return Operation(
        process=process, f=f, outcome="ok", invoked_ns=at_ns, completed_ns=at_ns + 400, did=did
    )
