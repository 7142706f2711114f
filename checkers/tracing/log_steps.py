"""The steps that change a replica's log: appends, truncations and flushes. Each is checked against
the spec.

Source: UnifiedLog.append, truncateTo and flush.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from checkers.tracing.logged_events import Event
from checkers.tracing.outcomes import Outcome, Refused, compared
from checkers.tracing.partition import Handler, Partition
from checkers.tracing.replication_lines import Step
from properties.refinement.log_entries import last_offset


def append(partition: Partition, event: Event) -> Outcome:
    r, first, last = _batch(partition, event)
    messages = partition.facts.messages + last + 1 - first
    partition.note(messages=messages)
    return compared("first offset", first, partition.now.end(r)) or partition.do_all(
        ("append", (r, messages - last + o, o + 1)) for o in range(first, last + 1)
    )


def copy(partition: Partition, event: Event) -> Outcome:
    r, first, last = _batch(partition, event)
    return compared("first offset", first, partition.now.end(r)) or partition.do_all(
        ("fetch_response", (r, last_offset(o), o + 1)) for o in range(first, last + 1)
    )


def _batch(partition: Partition, event: Event) -> tuple[int, int, int]:
    return partition.replicas[event.line.node], event.number("first"), event.number("last")


def name_producer(partition: Partition, event: Event) -> Outcome:
    """Accepts an event that names the producer of a batch, without any check.

    The module `idempotence` checks these events.
    """
    del partition, event
    return None


def truncate(partition: Partition, event: Event) -> Outcome:
    r, end = partition.replicas[event.line.node], event.number("offset")
    return partition.do("truncate", r, end)


def start_at(partition: Partition, event: Event) -> Outcome:
    del partition
    offset = event.number("offset")
    return Refused(f"the log is deleted and starts at offset {offset}", is_outside=True)


def flush(partition: Partition, event: Event) -> Outcome:
    r, end = partition.replicas[event.line.node], event.number("offset")
    return partition.do("flush", r, end) if end > partition.now.flushed(r) else None


STEPS: Final[Mapping[Step, Handler]] = {
    Step.APPEND: append,
    Step.COPY: copy,
    Step.PRODUCER: name_producer,
    Step.TRUNCATE: truncate,
    Step.START_AT: start_at,
    Step.FLUSH: flush,
}
