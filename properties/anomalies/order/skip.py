"""A process skipped records that are surely in the log.

A step is a pair of values that a process polled, or sent, in direct succession (`steps`). A step is
a skip if the history proves that a record is between the offsets of its two values. If the history
proves no record there, the gap may consist of transaction markers or compacted records.

A poll may legally skip some records. Such a record does not make the step a skip:

- a record that the log may have dropped (`retention`);
- for a poll at `read_committed`, a record that was returned only by polls at `read_uncommitted`,
  because its transaction may have aborted;
- for a poll at `read_committed`, a record whose sends all failed, because a reader must not receive
  such a record (`G1a`).

In Jepsen, records of the last two kinds do make the step a skip.

Source: jepsen.tests.kafka int-poll-skip, poll-skip, int-send-skip.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from model.histories import History, Operation, Poll
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import ALWAYS, NOTHING_DECLARED, SUBSCRIBE, Declarations
from properties.anomalies.observations import (
    KeyValue,
    Observation,
    aborted_values,
    dirty,
    observations,
)
from properties.anomalies.order import steps
from properties.anomalies.order.steps import Step, Steps
from properties.anomalies.rendering import render
from properties.anomalies.retention import kept_from


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Skip(Step):
    """Two values that a process polled or sent in direct succession, and the records between them
    that the process skipped.

    `skipped` is the number of offsets with a skipped record. The other fields describe the skipped
    record with the lowest offset.
    """

    skipped: int
    skipped_offset: int
    skipped_value: str
    skipped_op: int

    @property
    def size(self) -> int:
        return self.skipped

    @property
    def ops(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys((self.first_op, self.second_op, self.skipped_op)))


def skips(
    history: History, found: Steps, declared: Declarations = NOTHING_DECLARED
) -> tuple[Skip, ...]:
    kept, log = kept_from(history, declared), _by_key(history)
    aborted = frozenset[KeyValue]() if declared.jepsen else aborted_values(history)
    rows: list[Skip] = []
    for step in found(history, declared):
        seen = log[step.key]
        low = bisect_right(seen, step.first_offset, key=_offset)
        between = seen[low : bisect_left(seen, step.second_offset, lo=low, key=_offset)]
        reader = history[step.second_op]
        if isinstance(reader.did[step.second_position], Poll):
            between = [s for s in between if s.offset >= kept(step.key)]
            if not dirty(reader):
                clean = [s for s in between if not s.dirty]
                between = [s for s in clean if (s.key, s.value) not in aborted]
        if between:
            rows.append(_skip(step, between))
    return tuple(sorted(rows))


def _offset(seen: Observation) -> int:
    return seen.offset


def _by_key(history: History) -> dict[str, list[Observation]]:
    log: dict[str, list[Observation]] = {}
    for seen in sorted(observations(history), key=lambda s: (s.offset, s.op, s.value)):
        log.setdefault(seen.key, []).append(seen)
    return log


def _skip(step: Step, between: list[Observation]) -> Skip:
    first = between[0]
    return Skip(
        key=step.key,
        second_op=step.second_op,
        second_position=step.second_position,
        second_value=step.second_value,
        second_offset=step.second_offset,
        first_op=step.first_op,
        first_value=step.first_value,
        first_offset=step.first_offset,
        skipped=len({s.offset for s in between}),
        skipped_offset=first.offset,
        skipped_value=first.value,
        skipped_op=first.op,
    )


def _observed(history: History, found: Steps, declared: Declarations) -> int:
    return len(found(history, declared))


def explain(row: Skip, operations: Mapping[int, Operation], verb: str) -> str:
    between = "1 record is" if row.skipped == 1 else f"{row.skipped:,} records are"
    more = "" if row.skipped == 1 else " is the first"
    return "\n".join(
        (
            f"key {row.key}: process {operations[row.second_op].process} {verb} "
            f"{row.first_value} at offset {row.first_offset} and next {row.second_value} at offset "
            f"{row.second_offset}; {between} in between: {row.skipped_value} at offset "
            f"{row.skipped_offset}{more}.",
            f"  from  {render(operations, row.first_op, row.key, value=row.first_value)}",
            f"  to    {render(operations, row.second_op, row.key, value=row.second_value)}",
            f"  over  {render(operations, row.skipped_op, row.key, value=row.skipped_value)}",
        )
    )


_NOT_COUNTED: Final = (
    "not counting deletable records, aborted ones, or those observed only at read_uncommitted"
)


def anomalies(declared: Declarations) -> tuple[Anomaly, ...]:
    return (
        Anomaly(
            id="int-poll-skip",
            statement="Within one operation, polls of a key skip no record.",
            rule=(
                "An operation polled two consecutive records of a key, without a rebalance of the "
                f"key, and the log has a record between them, {_NOT_COUNTED}."
            ),
            explanation=(
                "The reader did not receive a record that is in the log: the record was hidden for "
                "a while, or the consumer dropped it."
            ),
            permits={},
            source="jepsen.tests.kafka int-poll-skip; claims: consumer_order",
            observes="consecutive records of a key within one operation's polls",
            row=Skip,
            find=partial(skips, found=steps.polls_within, declared=declared),
            observed=partial(_observed, found=steps.polls_within, declared=declared),
            explain=partial(explain, verb="polled"),
        ),
        Anomaly(
            id="int-send-skip",
            statement="Within one operation, sends to a key are adjacent in the log.",
            rule=(
                "An operation sent two consecutive records to a key, and the log has a record "
                "between them."
            ),
            explanation=(
                "A record of another client was appended between two records of one transaction."
            ),
            permits={ALWAYS: "Kafka interleaves the records of concurrent transactions in a log"},
            source="jepsen.tests.kafka int-send-skip",
            observes="consecutive records of a key within one operation's sends",
            row=Skip,
            find=partial(skips, found=steps.sends_within, declared=declared),
            observed=partial(_observed, found=steps.sends_within, declared=declared),
            explain=partial(explain, verb="sent"),
        ),
        Anomaly(
            id="poll-skip",
            statement="A process continues to read a key where it stopped and skips no record.",
            rule=(
                "The log has a record between the last one that a process polled of a key in an "
                "operation that ended ok and the first one that its next operation polled, with "
                f"the key assigned throughout, {_NOT_COUNTED}."
            ),
            explanation=(
                "The consumer lost its position and continued after records that it had not "
                "processed, as after an abort without a rewind, or the log hid them for a while."
            ),
            permits={SUBSCRIBE: "a rebalance between two polls may move the key away and back"},
            source="jepsen.tests.kafka poll-skip; claims: position_resumes",
            observes="polls of a key that follow an earlier poll of the process",
            row=Skip,
            find=partial(skips, found=steps.polls_between, declared=declared),
            observed=partial(_observed, found=steps.polls_between, declared=declared),
            explain=partial(explain, verb="polled"),
        ),
    )


ANOMALIES: Final = anomalies(NOTHING_DECLARED)
