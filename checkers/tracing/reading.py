"""Reads the events of each partition and of each transactional id from log files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from checkers.tracing import replication_lines, transaction_lines
from checkers.tracing.log_lines import LogLine
from checkers.tracing.logged_events import Event, Row, event_of
from checkers.tracing.replication_lines import Step, creates, names_producer

TABLE: Final[Sequence[Row]] = (*replication_lines.TABLE, *transaction_lines.TABLE)
OFFSETS: Final = "__consumer_offsets-"
_ROWS: Final[Mapping[str, Sequence[Row]]] = {
    logger: [row for row in TABLE if row.logger == logger]
    for logger in dict.fromkeys(row.logger for row in TABLE)
}


@dataclass(slots=True)
class Reading:
    """The events in the brokers' logs, in time order. `unknown` has the lines whose kind is
    unknown.
    """

    partitions: dict[str, list[Event]] = field(default_factory=dict[str, list[Event]])
    transactional_ids: dict[str, list[Event]] = field(default_factory=dict[str, list[Event]])
    lines: int = 0
    unknown: list[LogLine] = field(default_factory=list[LogLine])

    @property
    def with_producers(self) -> Mapping[str, list[Event]]:
        """The partitions for which at least one log line names the producer of a batch, each with
        all its events.

        The partitions of `__consumer_offsets` are not included.
        """
        # The group coordinator gives each batch of transactional offset commits the sequence number
        # 0, and Kafka does not check these numbers.
        return {
            partition: events
            for partition, events in self.partitions.items()
            if any(map(names_producer, events)) and not partition.startswith(OFFSETS)
        }


def read(lines: Iterable[LogLine]) -> Reading:
    """Returns the events of each partition and of each transactional id, in the order of the clock.

    A partition is not included if no line shows its creation. `unknown` has the lines that name a
    partition of the result and come from a known logger, but match no known pattern.
    """
    found, unknown = Reading(), list[LogLine]()
    for line in lines:
        found.lines += 1
        events = events_of(line)
        if events is None:
            unknown.append(line)
            continue
        for event in events:
            is_of_partition = isinstance(event.step, Step)
            subjects = found.partitions if is_of_partition else found.transactional_ids
            subjects.setdefault(event.subject, []).append(event)
    for partition, events in [*found.partitions.items()]:
        if not any(map(creates, events)):
            del found.partitions[partition]
    for events in (*found.partitions.values(), *found.transactional_ids.values()):
        events.sort(key=lambda event: event.line.at_ns)  # stable: the order within a file stays
    names = "|".join(map(re.escape, found.partitions))
    named = re.compile(rf"(?<![\w.-])({names})(?![\w-]|\.\w)")
    found.unknown += [line for line in unknown if found.partitions and named.search(line.message)]
    return found


def events_of(line: LogLine) -> Sequence[Event] | None:
    """Returns the events that a line reports, or None if its logger is known but the line matches
    no known pattern.

    The result is empty if the logger is unknown, or if lines of this kind report no event.
    """
    rows = _ROWS.get(line.logger)
    if rows is None:
        return ()
    body = line.message
    if body.startswith("["):
        body = body.partition("]")[2].lstrip(": ")
    for row in rows:
        if not body.startswith(row.begins) or (row.thread and not row.thread.search(line.thread)):
            continue
        if row.step is None:
            return ()
        found = [event_of(row, line, match) for match in row.pattern.finditer(line.message)]
        if found:
            return found
    return None
