"""A step went back in the log, or stayed where it was.

Source: jepsen.tests.kafka int-nonmonotonic-poll, nonmonotonic-poll, int-nonmonotonic-send,
nonmonotonic-send.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import SUBSCRIBE
from properties.anomalies.order import steps
from properties.anomalies.order.steps import Step, Steps
from properties.anomalies.rendering import told


def backward_steps(history: History, found: Steps) -> tuple[Step, ...]:
    """The steps that do not go forward."""
    return tuple(sorted(step for step in found(history) if step.size >= 0))


def _observed(history: History, found: Steps) -> int:
    return sum(1 for _ in found(history))


def explain(row: Step, operations: Mapping[int, Operation]) -> str:
    """From where to where the step went."""
    where = "back to" if row.size else "again to"
    return "\n".join(
        (
            f"key {row.key}: process {operations[row.second_op].process} went from "
            f"{row.first_value} at offset {row.first_offset} {where} {row.second_value} at offset "
            f"{row.second_offset}.",
            f"  from  {told(operations, row.first_op, row.key, value=row.first_value)}",
            f"  to    {told(operations, row.second_op, row.key, value=row.second_value)}",
        )
    )


INT_NONMONOTONIC_POLL: Final = Anomaly(
    id="int-nonmonotonic-poll",
    statement="Inside an operation the polls of a key go forward.",
    rule=(
        "Of two neighbours among what an operation polled of a key that no rebalance touched the "
        "second lies no higher than the first."
    ),
    explanation=(
        "The reader was given records out of order or twice: the log has one twice, or the "
        "consumer's position was set back."
    ),
    permits={},
    source="jepsen.tests.kafka int-nonmonotonic-poll; claims: consumer_order",
    observes="neighbours in one operation's polls of a key",
    row=Step,
    find=partial(backward_steps, found=steps.polls_within),
    observed=partial(_observed, found=steps.polls_within),
    explain=explain,
)

INT_NONMONOTONIC_SEND: Final = Anomaly(
    id="int-nonmonotonic-send",
    statement="Inside an operation the sends to a key are appended in their order.",
    rule="Of two neighbours among what an operation sent to a key the second lies no higher.",
    explanation=(
        "Batches of one producer were appended out of order: one was retried while a later one "
        "was already in the log, without idempotence or with sequence numbers that began anew."
    ),
    permits={},
    source="jepsen.tests.kafka int-nonmonotonic-send; claims: append_order",
    observes="neighbours in one operation's sends to a key",
    row=Step,
    find=partial(backward_steps, found=steps.sends_within),
    observed=partial(_observed, found=steps.sends_within),
    explain=explain,
)

NONMONOTONIC_POLL: Final = Anomaly(
    id="nonmonotonic-poll",
    statement="A process goes on reading behind where it stopped.",
    rule=(
        "The first record of a key that an operation polled lies no higher than the last that its "
        "process polled in an earlier operation ended ok, with the key assigned to it all the "
        "while."
    ),
    explanation=(
        "The consumer was given again what it had processed: its position was set back, or lost "
        "and taken from an older commit."
    ),
    permits={SUBSCRIBE: "a rebalance between two polls may set the position back to a commit"},
    source="jepsen.tests.kafka nonmonotonic-poll; claims: position_resumes",
    observes="polls of a key that follow on an earlier one",
    row=Step,
    find=partial(backward_steps, found=steps.polls_between),
    observed=partial(_observed, found=steps.polls_between),
    explain=explain,
)

NONMONOTONIC_SEND: Final = Anomaly(
    id="nonmonotonic-send",
    statement="What a process sends to a key is appended behind what it sent before.",
    rule=(
        "The first record that an operation sent to a key lies no higher than the last that its "
        "process sent to the key before; operations that failed do not count."
    ),
    explanation=(
        "A record that was sent later was appended earlier, or the log lost its end in between "
        "and gave out its offsets again."
    ),
    permits={},
    source="jepsen.tests.kafka nonmonotonic-send; claims: append_order",
    observes="sends to a key that follow on an earlier one",
    row=Step,
    find=partial(backward_steps, found=steps.sends_between),
    observed=partial(_observed, found=steps.sends_between),
    explain=explain,
)

ANOMALIES: Final = (
    INT_NONMONOTONIC_POLL,
    INT_NONMONOTONIC_SEND,
    NONMONOTONIC_POLL,
    NONMONOTONIC_SEND,
)
