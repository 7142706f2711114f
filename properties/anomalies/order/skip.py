"""A step went over records that are surely in the log.

Between the places of its two values lies an offset at which the history shows a record. Gaps that
nobody saw a record in are no skip: markers of transactions lie there, or what was compacted away.
What may be gone (`retention`) is not missed, nor is a record that only polls at `read_uncommitted`
have seen missed by a poll at `read_committed`: it may be of a transaction that was aborted.

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
from properties.anomalies.observations import Sighting, dirty, sightings
from properties.anomalies.order import steps
from properties.anomalies.order.steps import Step, Steps
from properties.anomalies.rendering import told
from properties.anomalies.retention import kept_from


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Skip(Step):
    """A step, how many records it went over, and the first of them with who showed it first."""

    skipped: int
    skipped_offset: int
    skipped_value: str
    skipped_op: int

    @property
    def size(self) -> int:
        """How many records it went over."""
        return self.skipped

    @property
    def ops(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys((self.first_op, self.second_op, self.skipped_op)))


def skips(
    history: History, found: Steps, declared: Declarations = NOTHING_DECLARED
) -> tuple[Skip, ...]:
    """One row per step that went over a record that had to be there."""
    kept, log = kept_from(history, declared), _by_key(history)
    rows: list[Skip] = []
    for step in found(history):
        seen = log[step.key]
        low = bisect_right(seen, step.first_offset, key=_offset)
        between = seen[low : bisect_left(seen, step.second_offset, lo=low, key=_offset)]
        reader = history[step.second_op]
        if isinstance(reader.did[step.second_position], Poll):
            between = [s for s in between if s.offset >= kept(step.key)]
            between = [s for s in between if dirty(reader) or not s.dirty]
        if between:
            rows.append(_skip(step, between))
    return tuple(sorted(rows))


def _offset(seen: Sighting) -> int:
    return seen.offset


def _by_key(history: History) -> dict[str, list[Sighting]]:
    log: dict[str, list[Sighting]] = {}
    for seen in sorted(sightings(history), key=lambda s: (s.offset, s.op, s.value)):
        log.setdefault(seen.key, []).append(seen)
    return log


def _skip(step: Step, between: list[Sighting]) -> Skip:
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


def _observed(history: History, found: Steps) -> int:
    return sum(1 for _ in found(history))


def explain(row: Skip, operations: Mapping[int, Operation]) -> str:
    """From where to where the step went, and what lies between."""
    records = "a record" if row.skipped == 1 else f"{row.skipped:,} records"
    return "\n".join(
        (
            f"key {row.key}: process {operations[row.second_op].process} went from "
            f"{row.first_value} at offset {row.first_offset} to {row.second_value} at offset "
            f"{row.second_offset}, over {records}: {row.skipped_value} at {row.skipped_offset}.",
            f"  from  {told(operations, row.first_op, row.key, value=row.first_value)}",
            f"  to    {told(operations, row.second_op, row.key, value=row.second_value)}",
            f"  over  {told(operations, row.skipped_op, row.key, value=row.skipped_value)}",
        )
    )


_FROM_POLLS: Final = "what may be deleted, or is seen at read_uncommitted only, is not missed"


def anomalies(declared: Declarations) -> tuple[Anomaly, ...]:
    """The three skips, as rows of the catalogue."""
    return (
        Anomaly(
            id="int-poll-skip",
            statement="Inside an operation the polls of a key leave no record out.",
            rule=(
                "Two neighbours among what an operation polled of a key that no rebalance touched "
                f"have a record between their places; {_FROM_POLLS}."
            ),
            explanation=(
                "The reader was not given a record that is in the log: it was hidden for a while, "
                "or the consumer threw it away."
            ),
            permits={},
            source="jepsen.tests.kafka int-poll-skip; claims: consumer_order",
            observes="neighbours in one operation's polls of a key",
            row=Skip,
            find=partial(skips, found=steps.polls_within, declared=declared),
            observed=partial(_observed, found=steps.polls_within),
            explain=explain,
        ),
        Anomaly(
            id="int-send-skip",
            statement="Inside an operation the sends to a key lie side by side.",
            rule="Two neighbours among what an operation sent to a key have a record between them.",
            explanation="Somebody else's record came between two of one transaction.",
            permits={ALWAYS: "Kafka interleaves the records of transactions; none owns a log"},
            source="jepsen.tests.kafka int-send-skip",
            observes="neighbours in one operation's sends to a key",
            row=Skip,
            find=partial(skips, found=steps.sends_within, declared=declared),
            observed=partial(_observed, found=steps.sends_within),
            explain=explain,
        ),
        Anomaly(
            id="poll-skip",
            statement="A process goes on reading where it stopped, and leaves no record out.",
            rule=(
                "Between the last record of a key that a process polled in an operation ended ok "
                "and the first that its next operation polled, with the key assigned to it all the "
                f"while, lies a record; {_FROM_POLLS}."
            ),
            explanation=(
                "The consumer lost its position: it went on behind records that nobody processed, "
                "as after an abort without a rewind, or the log hid them for a while."
            ),
            permits={SUBSCRIBE: "a rebalance between two polls may give the key away and back"},
            source="jepsen.tests.kafka poll-skip; claims: position_resumes",
            observes="polls of a key that follow on an earlier one",
            row=Skip,
            find=partial(skips, found=steps.polls_between, declared=declared),
            observed=partial(_observed, found=steps.polls_between),
            explain=explain,
        ),
    )


ANOMALIES: Final = anomalies(NOTHING_DECLARED)
