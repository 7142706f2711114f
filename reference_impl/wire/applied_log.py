"""The broker's own log of what it applied: a line of NDJSON for each batch that arrived.

    {"event": "produce", "broker": 0, "topic_partition": "a-0", "base_offset": 4, "records": 2,
     "producer_id": 1000, "producer_epoch": 0, "base_sequence": 4, "answered": false}

A line is written once the core has said that the batch is in the log (acks=all: on every in-sync
replica); `answered` is false where a fault kept the answer back. A retry that was recognised has a
line of its own with the same offset. What was applied but never acknowledged inside the cluster (a
broker died, a time-out) has no line: the counts taken from here are lower bounds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from model.vocabulary import BrokerId
from reference_impl.log.record_batch import batches, header
from reference_impl.wire.data_plane import PartitionProduce


@dataclass(frozen=True, slots=True)
class AppliedLog:
    """Writes each line with one unbuffered `write`, so that it can be read while it grows."""

    descriptor: int

    @classmethod
    def open(cls, path: Path) -> AppliedLog:
        """A new log; FileExistsError rather than mixing two runs."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        return cls(os.open(path, flags, 0o644))

    def write(
        self, broker_id: BrokerId, appended: Iterable[PartitionProduce], *, answered: bool
    ) -> None:
        """One line per batch that the core accepted."""
        lines = [
            {"event": "produce", "broker": broker_id, **applied, "answered": answered}
            for one in appended
            for applied in _accepted(one)
        ]
        os.write(self.descriptor, b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    def close(self) -> None:
        os.close(self.descriptor)


def _accepted(one: PartitionProduce) -> list[dict[str, str | int]]:
    if one.produced is None or not one.is_applied:
        return []
    found: list[dict[str, str | int]] = []
    base_offset: int = one.produced.base_offset
    for batch in batches(one.request.batches):
        head = header(batch)
        found.append(
            {
                "topic_partition": str(one.topic_partition),
                "base_offset": base_offset,
                "records": head.record_count,
                "producer_id": head.producer_id,
                "producer_epoch": head.producer_epoch,
                "base_sequence": head.base_sequence,
            }
        )
        base_offset += head.record_count
    return found


def applied_but_unanswered(log: Path) -> int:
    """How many records were applied by a request whose answer did not go out, each counted once.

    Most are acknowledged later, when the client's retry is recognised.
    """
    unanswered: set[tuple[object, ...]] = set()
    for line in log.read_text().splitlines():
        told = json.loads(line)
        if not told["answered"]:
            unanswered.update(_records(told))
    return len(unanswered)


def applied(log: Path) -> int:
    """How many records were applied, each counted once however often it was sent."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return len({record for told in lines for record in _records(told)})


def _records(told: dict[str, object]) -> Iterable[tuple[object, ...]]:
    """What names each record of a line: its producer's sequence number, or its offset."""
    producer = (told["topic_partition"], told["producer_id"], told["producer_epoch"])
    first = told["base_offset"] if told["producer_id"] == -1 else told["base_sequence"]
    assert isinstance(first, int)
    count = told["records"]
    assert isinstance(count, int)
    return ((*producer, first + n) for n in range(count))
