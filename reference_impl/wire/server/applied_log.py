"""The applied log: one line of NDJSON for each record batch that the cluster has acknowledged.

A line looks like this, without the line break:

    {"event": "produce", "broker": 0, "topic_partition": "a-0", "base_offset": 4, "records": 2,
     "producer_id": 1000, "producer_epoch": 0, "base_sequence": 4, "answered": false}

`answered` is false if a fault drops the acknowledgement on its way to the client.

A duplicate of a batch has a line of its own with the same offset, but the function `applied` counts
each record one time. A batch without an acknowledgement has no line, so the function returns a
lower bound.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from model.vocabulary import BrokerId
from reference_impl.log.consecutive_batches import whole_batches
from reference_impl.log.record_batch import header
from reference_impl.wire.requests.records.produce import PartitionProduce


@dataclass(frozen=True, slots=True)
class AppliedLog:
    """The open file of the applied log. Another process can read the file while it grows."""

    descriptor: int

    @classmethod
    def open(cls, path: Path) -> AppliedLog:
        """Creates the file and opens it. Raises FileExistsError if the file exists, so that no
        two runs are mixed.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        return cls(os.open(path, flags, 0o644))

    @classmethod
    def append_to(cls, path: Path) -> AppliedLog:
        """Opens an existing file to append lines. Several processes may append whole lines to
        the same file.
        """
        return cls(os.open(path, os.O_WRONLY | os.O_APPEND))

    def write(
        self, broker_id: BrokerId, appended: Iterable[PartitionProduce], *, answered: bool
    ) -> None:
        """Writes one line for each record batch that the broker accepted. `answered` is False if a
        fault drops the acknowledgement on its way to the client.
        """
        lines = [
            {"event": "produce", "broker": broker_id, **applied, "answered": answered}
            for one in appended
            for applied in _accepted(one)
        ]
        # One unbuffered write per request, for readers of the growing file.
        os.write(self.descriptor, b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    def close(self) -> None:
        os.close(self.descriptor)


def _accepted(one: PartitionProduce) -> list[dict[str, str | int]]:
    if one.produced is None or not one.is_applied:
        return []
    found: list[dict[str, str | int]] = []
    base_offset: int = one.produced.base_offset
    for batch in whole_batches(one.request.batches):
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
    """Returns the number of distinct records that the applied log lists as applied but not
    answered.
    """
    unanswered: set[tuple[object, ...]] = set()
    for line in log.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if not entry["answered"]:
            unanswered.update(_records(entry))
    return len(unanswered)


def applied(log: Path) -> int:
    """Returns the number of distinct records in the applied log."""
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return len({record for entry in lines for record in _records(entry)})


def _records(entry: dict[str, object]) -> Iterable[tuple[object, ...]]:
    producer = (entry["topic_partition"], entry["producer_id"], entry["producer_epoch"])
    # Without an idempotent producer there are no sequence numbers.
    first = entry["base_offset"] if entry["producer_id"] == -1 else entry["base_sequence"]
    assert isinstance(first, int)
    count = entry["records"]
    assert isinstance(count, int)
    return ((*producer, first + n) for n in range(count))
