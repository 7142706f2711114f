"""Two consecutive polls, or two consecutive sends, of a process went back in the log, or stayed at
the same offset.

Source: jepsen.tests.kafka int-nonmonotonic-poll, nonmonotonic-poll, int-nonmonotonic-send,
nonmonotonic-send.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import NOTHING_DECLARED, SUBSCRIBE, Declarations
from properties.anomalies.order import steps
from properties.anomalies.order.steps import Step, Steps
from properties.anomalies.rendering import render


def backward_steps(
    history: History, found: Steps, declared: Declarations = NOTHING_DECLARED
) -> tuple[Step, ...]:
    return tuple(sorted(step for step in found(history, declared) if step.size >= 0))


def _observed(history: History, found: Steps, declared: Declarations = NOTHING_DECLARED) -> int:
    return len(found(history, declared))


def explain(row: Step, operations: Mapping[int, Operation], verb: str) -> str:
    lower = "lower" if row.size else "not higher"
    where = "then" if row.size else "then again"
    return "\n".join(
        (
            f"key {row.key}: process {operations[row.second_op].process} {verb} "
            f"{row.first_value} at offset {row.first_offset} and {where} {row.second_value} at "
            f"offset {row.second_offset}, which is {lower}.",
            f"  from  {render(operations, row.first_op, row.key, value=row.first_value)}",
            f"  to    {render(operations, row.second_op, row.key, value=row.second_value)}",
        )
    )


INT_NONMONOTONIC_POLL: Final = Anomaly(
    id="int-nonmonotonic-poll",
    statement="Within one operation, polls of a key return records in increasing offset order.",
    rule=(
        "An operation polled two consecutive records of a key, without a rebalance of the key, and "
        "the second is not at a higher offset than the first."
    ),
    explanation=(
        "The reader received records out of order or twice: the log contains a record twice, or "
        "the consumer's position moved back."
    ),
    permits={},
    source="jepsen.tests.kafka int-nonmonotonic-poll; claims: consumer_order",
    observes="consecutive records of a key within one operation's polls",
    row=Step,
    find=partial(backward_steps, found=steps.polls_within),
    observed=partial(_observed, found=steps.polls_within),
    explain=partial(explain, verb="polled"),
)

INT_NONMONOTONIC_SEND: Final = Anomaly(
    id="int-nonmonotonic-send",
    statement=(
        "Within one operation, sends to a key are appended in the order in which they were sent."
    ),
    rule=(
        "An operation sent two consecutive records to a key, and the second is at no higher offset."
    ),
    explanation=(
        "Batches of one producer were appended out of order: one was retried after a later one "
        "was appended, without idempotence or with sequence numbers that restarted."
    ),
    permits={},
    source="jepsen.tests.kafka int-nonmonotonic-send; claims: append_order",
    observes="consecutive records of a key within one operation's sends",
    row=Step,
    find=partial(backward_steps, found=steps.sends_within),
    observed=partial(_observed, found=steps.sends_within),
    explain=partial(explain, verb="sent"),
)

NONMONOTONIC_POLL: Final = Anomaly(
    id="nonmonotonic-poll",
    statement="A process continues to read a key above the last record that it polled.",
    rule=(
        "The first record of a key that an operation polled is at no higher offset than the last "
        "one that its process polled in an earlier operation that ended ok, with the key assigned "
        "throughout."
    ),
    explanation=(
        "The consumer received records again that it had processed: its position moved back, or "
        "was lost and restored from an older commit."
    ),
    permits={
        SUBSCRIBE: "a rebalance between two polls may reset the position to a committed offset"
    },
    source="jepsen.tests.kafka nonmonotonic-poll; claims: position_resumes",
    observes="polls of a key that follow an earlier poll of the process",
    row=Step,
    find=partial(backward_steps, found=steps.polls_between),
    observed=partial(_observed, found=steps.polls_between),
    explain=partial(explain, verb="polled"),
)

NONMONOTONIC_SEND: Final = Anomaly(
    id="nonmonotonic-send",
    statement="A process's sends to a key are appended above its earlier sends to that key.",
    rule=(
        "The first record that an operation sent to a key is at no higher offset than the last "
        "one that its process sent to the key before, not counting failed operations."
    ),
    explanation=(
        "A record that was sent later was appended earlier, or the log was truncated in between "
        "and assigned its offsets again."
    ),
    permits={},
    source="jepsen.tests.kafka nonmonotonic-send; claims: append_order",
    observes="sends to a key that follow an earlier send of the process",
    row=Step,
    find=partial(backward_steps, found=steps.sends_between),
    observed=partial(_observed, found=steps.sends_between),
    explain=partial(explain, verb="sent"),
)

_STEPS: Final[tuple[tuple[Anomaly, Steps], ...]] = (
    (INT_NONMONOTONIC_POLL, steps.polls_within),
    (INT_NONMONOTONIC_SEND, steps.sends_within),
    (NONMONOTONIC_POLL, steps.polls_between),
    (NONMONOTONIC_SEND, steps.sends_between),
)
ANOMALIES: Final = tuple(one for one, _ in _STEPS)


def anomalies(declared: Declarations) -> tuple[Anomaly, ...]:
    return tuple(
        replace(
            one,
            find=partial(backward_steps, found=found, declared=declared),
            observed=partial(_observed, found=found, declared=declared),
        )
        for one, found in _STEPS
    )
