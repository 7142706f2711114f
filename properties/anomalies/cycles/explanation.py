"""A cycle in words, in Elle's manner: the operations by name, and why each comes before the next.

Source: elle.core, explain-cycle-ops; the explainers of jepsen.tests.kafka.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from model.histories import MicroOperation, Operation, Poll, Send
from model.history_notation import show
from properties.anomalies.cycles.cycle import Cycle, steps
from properties.anomalies.cycles.dependencies import Dependency
from properties.anomalies.rendering import at


def explain(row: Cycle, operations: Mapping[int, Operation]) -> str:
    """Why each operation comes before the next, in Elle's manner."""
    names = {op: f"T{number}" for number, op in enumerate(row.ops, 1)}
    reasons = list(steps(row))
    lines = ["Let:"]
    for op in row.ops:
        operation = operations[op]
        shown = show(replace(operation, did=tuple(_concerned(op, operation, reasons))))
        lines.append(f"  {names[op]} = operation {op}, process {operation.process}: {shown}")
    lines.append("Then:")
    for number, step in enumerate(reasons, 1):
        first, second = names[step.first], names[step.second]
        said = f"{first} < {second}, because {because(step, names, operations)}"
        last = number == len(reasons)
        lines.append(f"  - However, {said}: a contradiction." if last else f"  - {said}.")
    if row.component > len(row.ops):
        lines.append(f"It is the shortest cycle found among {row.component:,} operations.")
    return "\n".join(lines)


def _concerned(
    op: int, operation: Operation, reasons: Collection[Dependency]
) -> Iterator[MicroOperation]:
    """The micro-operations of the records that the reasons are of."""
    wanted = {
        (step.key, value)
        for step in reasons
        if op in {step.first, step.second}
        for value in (step.value, step.next_value)
    }
    for micro in operation.did:
        if isinstance(micro, Send | Poll) and (micro.key, micro.value) in wanted:
            yield micro


def because(step: Dependency, names: Mapping[int, str], operations: Mapping[int, Operation]) -> str:
    """Why the first operation of the step comes before the second, by these names of theirs."""
    first, second = names[step.first], names[step.second]
    before, after = operations[step.first], operations[step.second]
    match step.kind:
        case "ww":
            sent = _record(before, Send, step.key, step.value)
            following = _record(after, Send, step.key, step.next_value)
            return f"{first} sent {sent}, and {second} sent {following}, the next of the key"
        case "wr":
            polled = _record(after, Poll, step.key, step.value)
            return f"{second} polled {polled}, which {first} sent"
        case "rw":
            polled = _record(before, Poll, step.key, step.value)
            following = _record(after, Send, step.key, step.next_value)
            return (
                f"{first} polled {polled} and no further, and {second} sent {following}, the next"
            )
        case "process":
            return f"process {before.process} did {first} before {second}"
        case "realtime":
            return (
                f"{first} completed at {at(before.completed_ns)}, and {second} was invoked after "
                f"that, at {at(after.invoked_ns)}"
            )
    raise AssertionError(step)


def _record(operation: Operation, kind: type[Send] | type[Poll], key: str, value: str) -> str:
    """The record as the operation told of it."""
    told = [
        micro
        for micro in operation.did
        if isinstance(micro, Send | Poll) and isinstance(micro, kind)
        if (micro.key, micro.value) == (key, value)
    ]
    place = "" if told[0].offset is None else f"@{told[0].offset}"
    return f"{key}={value}{place}"
