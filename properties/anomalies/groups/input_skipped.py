"""A pipeline went past a record of its input that no committed step of it consumed.

The record is in the log: its send took effect at this offset, or a poll at read_committed was given
it there. A step that ended `ok` committed a higher offset, so the group will not come back to it.
And no operation of the group that did not fail was given it.

Not skipped is what lies below everything that the group was given, was told as its offset, or
committed: there it began. Nor what the application itself jumped over, by a commit outside of
transactions of a higher offset; nor what the log may have dropped (`retention`); nor anything that
a step of unknown outcome may have consumed which tells nothing of what it polled.
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
from properties.anomalies.observations import Sighting, placings
from properties.anomalies.rendering import told, whole
from properties.anomalies.retention import kept_from
from properties.anomalies.transactions.visible import TRANSACTION


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class InputSkipped:
    """A record that a pipeline passed, who showed it, and the first step that passed it."""

    group: str
    key: str
    offset: int
    value: str
    known_op: int
    committed_offset: int
    passed_op: int
    tried_by: tuple[int, ...]  # failed operations of the group that were given it

    @property
    def size(self) -> int:
        """Every one is as bad."""
        return 1

    @property
    def ops(self) -> tuple[int, ...]:
        return self.known_op, self.passed_op, *self.tried_by


def _polled(history: History, register: Register) -> list[tuple[int, int]]:
    """The offsets that operations of the group were given, with the operation."""
    group, key = register
    return [
        (micro.offset, number)
        for number, operation in enumerate(history)
        if operation.group == group
        for micro in operation.did
        if isinstance(micro, Poll) and micro.key == key and micro.offset is not None
    ]


def _begin(history: History, register: Register) -> int:
    """The lowest offset at which the group is known to have been."""
    polled = [offset for offset, _ in _polled(history, register)]
    told = [it.offset for it in facts(history) if it.register == register]
    return min(offset for offset in (*polled, *told) if offset != NONE)


def _passed(history: History, register: Register, offset: int) -> Step | None:
    """The first step that committed a higher offset, unless the application jumped or may have."""
    jumped = any(
        c.register == register and c.offset > offset
        for c in commits(history)
        if c.outcome != "fail" and not c.in_transaction
    )
    passing = [s for s in steps(history) if s.register == register and s.committed > offset]
    if jumped or not passing:
        return None
    first = min(passing, key=lambda step: step.op)
    untold = any(
        operation.f == TRANSACTION and operation.outcome == "info"
        for operation in history
        if operation.group == register[0]
        if not any(isinstance(micro, Poll) for micro in operation.did)
        if operation.invoked_ns <= (history[first.op].completed_ns or 0)
    )
    return None if untold else first


def _inputs(
    history: History, declared: Declarations
) -> dict[tuple[Register, int], tuple[Step, Sighting]]:
    """Each record that the group must have consumed: the first step past it, and who showed it."""
    kept = kept_from(history, declared)
    shown: dict[tuple[str, int], Sighting] = {}
    for seen in sorted(placings(history), key=lambda it: (it.op, it.value)):
        if not seen.dirty:
            shown.setdefault((seen.key, seen.offset), seen)
    inputs: dict[tuple[Register, int], tuple[Step, Sighting]] = {}
    for register in {step.register for step in steps(history)}:
        begin = max(_begin(history, register), kept(register[1]))
        for (key, offset), seen in shown.items():
            if key == register[1] and offset >= begin:
                step = _passed(history, register, offset)
                if step is not None:
                    inputs[register, offset] = step, seen
    return inputs


def inputs_skipped(
    history: History, declared: Declarations = NOTHING_DECLARED
) -> tuple[InputSkipped, ...]:
    """One row per group and record of its input that was skipped."""
    rows: list[InputSkipped] = []
    for (register, offset), (step, seen) in _inputs(history, declared).items():
        given = sorted({op for at, op in _polled(history, register) if at == offset})
        if all(history[op].outcome == "fail" for op in given):
            rows.append(
                InputSkipped(
                    group=register[0],
                    key=register[1],
                    offset=offset,
                    value=seen.value,
                    known_op=seen.op,
                    committed_offset=step.committed,
                    passed_op=step.op,
                    tried_by=tuple(given),
                )
            )
    return tuple(sorted(rows))


def observed(history: History, declared: Declarations = NOTHING_DECLARED) -> int:
    """How many records of its input each group must have consumed."""
    return len(_inputs(history, declared))


def explain(row: InputSkipped, operations: Mapping[int, Operation]) -> str:
    """The record, who tried to consume it, and who committed past it."""
    tried = "nobody" if not row.tried_by else "only operations that failed"
    return "\n".join(
        (
            f"group {row.group}, key {row.key}: {row.value} lies at offset {row.offset}; operation "
            f"{row.passed_op} committed {row.committed_offset}, and of the group {tried} had been "
            "given it.",
            f"  known   {told(operations, row.known_op, row.key, value=row.value)}",
            f"  passed  {told(operations, row.passed_op, row.key)}",
            *(f"  tried   {whole(operations, op)}" for op in row.tried_by),
        )
    )


def anomaly(declared: Declarations) -> Anomaly:
    """The row of the catalogue."""
    return Anomaly(
        id="input-skipped",
        statement="A pipeline consumes every record of its input.",
        rule=(
            "A record lies below the offset that a transaction of a group which ended ok "
            "committed, and not below all that the group was given, told or committed; no "
            "operation of the group that did not fail was given it, no commit outside of "
            "transactions jumped over it, the log has not dropped it, and no transaction of the "
            "group of unknown outcome that tells no poll was invoked before."
        ),
        explanation=(
            "The offsets of a transaction took effect though it aborted, or the consumer's "
            "position was not taken back after an abort: the input is lost to the group."
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
