"""A pipeline skipped an input record: no committed transaction consumed the record.

Three facts prove that a group skipped a record:
- The record is in the log.
- A transaction of the group committed a higher offset and ended `ok`. So the group will not read
  the record later.
- No operation of the group polled the record, except operations that failed.

The record is not reported in four cases:
- The record is below every offset that the group polled, and below every group offset that it read,
  committed or tried to commit.
- The application committed a higher offset outside a transaction.
- The log may have dropped the record (`retention`).
- A transaction with an unknown outcome and without recorded polls may have consumed the record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from model.histories import History, Operation, Poll
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.anomalies.groups.offsets import NONE, Register, commits, facts
from properties.anomalies.groups.pipelines import Step, steps
from properties.anomalies.observations import (
    KeyValue,
    Observation,
    aborted_values,
    trusted_observations,
)
from properties.anomalies.rendering import render, render_whole
from properties.anomalies.retention import kept_from
from properties.anomalies.transactions.visible import TRANSACTION


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class InputSkipped:
    """An input record that a group skipped: a transaction of the group committed a higher offset.

    The operation `known_op` proves that the record is in the log. The operation `passed_op` is the
    transaction that committed the higher offset.
    """

    group: str
    key: str
    offset: int
    value: str
    known_op: int
    committed_offset: int
    passed_op: int
    tried_by: tuple[int, ...]  # failed operations of the group that polled it

    @property
    def size(self) -> int:
        return 1

    @property
    def ops(self) -> tuple[int, ...]:
        return self.known_op, self.passed_op, *self.tried_by


def _polls(history: History, register: Register) -> list[tuple[int, int]]:
    group, key = register
    return [
        (micro.offset, number)
        for number, operation in enumerate(history)
        if operation.group == group
        for micro in operation.did
        if isinstance(micro, Poll) and micro.key == key and micro.offset is not None
    ]


def _begin(history: History, register: Register) -> int:
    polled = [offset for offset, _ in _polls(history, register)]
    others = [it.offset for it in facts(history) if it.register == register]
    return min(offset for offset in (*polled, *others) if offset != NONE)


def _first_commit_above(history: History, register: Register, offset: int) -> Step | None:
    # the group may have passed `offset` by a commit outside transactions
    jumped = any(
        c.register == register and c.offset > offset
        for c in commits(history)
        if c.outcome != "fail" and not c.in_transaction
    )
    passing = [s for s in steps(history) if s.register == register and s.committed > offset]
    if jumped or not passing:
        return None
    first = min(passing, key=lambda step: step.op)
    unrecorded = any(
        operation.f == TRANSACTION and operation.outcome == "info"
        for operation in history
        if operation.group == register[0]
        if not any(isinstance(micro, Poll) for micro in operation.did)
        if operation.invoked_ns <= (history[first.op].completed_ns or 0)
    )
    return None if unrecorded else first


def _inputs(
    history: History, declared: Declarations
) -> dict[tuple[Register, int], tuple[Step, Observation]]:
    """Returns the input records that groups should have consumed. The key is (group, topic
    partition, offset), and the value is (step, observation).

    A group should have consumed a record if the group committed a higher offset of the topic
    partition. The step is the first transaction of the group that did this. The observation proves
    that the record is in the log.
    """
    kept = kept_from(history, declared)
    aborted = frozenset[KeyValue]() if declared.jepsen else aborted_values(history)
    shown: dict[tuple[str, int], Observation] = {}
    for seen in sorted(trusted_observations(history), key=lambda it: (it.op, it.value)):
        if not seen.dirty and (seen.key, seen.value) not in aborted:
            shown.setdefault((seen.key, seen.offset), seen)
    inputs: dict[tuple[Register, int], tuple[Step, Observation]] = {}
    for register in {step.register for step in steps(history)}:
        begin = max(_begin(history, register), kept(register[1]))
        for (key, offset), seen in shown.items():
            if key == register[1] and offset >= begin:
                step = _first_commit_above(history, register, offset)
                if step is not None:
                    inputs[register, offset] = step, seen
    return inputs


def inputs_skipped(
    history: History, declared: Declarations = NOTHING_DECLARED
) -> tuple[InputSkipped, ...]:
    rows: list[InputSkipped] = []
    for (register, offset), (step, seen) in _inputs(history, declared).items():
        polled_by = sorted({op for at, op in _polls(history, register) if at == offset})
        if all(history[op].outcome == "fail" for op in polled_by):
            rows.append(
                InputSkipped(
                    group=register[0],
                    key=register[1],
                    offset=offset,
                    value=seen.value,
                    known_op=seen.op,
                    committed_offset=step.committed,
                    passed_op=step.op,
                    tried_by=tuple(polled_by),
                )
            )
    return tuple(sorted(rows))


def observed(history: History, declared: Declarations = NOTHING_DECLARED) -> int:
    return len(_inputs(history, declared))


def explain(row: InputSkipped, operations: Mapping[int, Operation]) -> str:
    tried = "no operation" if not row.tried_by else "only failed operations"
    return "\n".join(
        (
            f"group {row.group}, key {row.key}: {row.value} is at offset {row.offset}; operation "
            f"{row.passed_op} committed offset {row.committed_offset}, although {tried} of the "
            f"group had polled {row.value}.",
            f"  record  {render(operations, row.known_op, row.key, value=row.value)}",
            f"  passed  {render(operations, row.passed_op, row.key)}",
            *(f"  tried   {render_whole(operations, op)}" for op in row.tried_by),
        )
    )


def anomaly(declared: Declarations) -> Anomaly:
    return Anomaly(
        id="input-skipped",
        statement=(
            "A pipeline consumes every record of its input before it commits a higher offset."
        ),
        rule=(
            "A transaction of a group committed an offset above a record that no operation of the "
            "group polled, except failed ones. The record is not deleted, and not below the offset "
            "where the group began. No commit outside transactions passed it, and no transaction "
            "with unknown outcome and unrecorded polls can have consumed it."
        ),
        explanation=(
            "The offsets of a transaction took effect although it aborted, or the consumer's "
            "position was not reset after an abort, so the group never processes the record."
        ),
        permits={},
        source="claims: exactly_once_pipeline, atomic_commit; KAFKA-17582",
        observes="records that a pipeline must have consumed",
        row=InputSkipped,
        find=partial(inputs_skipped, declared=declared),
        observed=partial(observed, declared=declared),
        explain=explain,
    )


ANOMALY: Final = anomaly(NOTHING_DECLARED)
