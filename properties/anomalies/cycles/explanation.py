"""The explanation of a cycle in prose, as in Elle: why each operation must precede the next
operation.

Source: Elle: elle.core, explain-cycle-ops; the explainers of jepsen.tests.kafka.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from model.histories import MicroOperation, Operation, Poll, Send
from model.history_notation import show
from properties.anomalies.cycles.cycle import Cycle, steps
from properties.anomalies.cycles.dependencies import Dependency
from properties.anomalies.rendering import in_ms


def explain(row: Cycle, operations: Mapping[int, Operation]) -> str:
    """Returns a text that lists the operations of the cycle, and the reason why each operation must
    precede the next operation.
    """
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
        reason = f"{first} < {second}, because {because(step, names, operations)}"
        last = number == len(reasons)
        lines.append(f"  - However, {reason}: a contradiction." if last else f"  - {reason}.")
    if row.component > len(row.ops):
        lines.append(f"This is the shortest cycle found among {row.component:,} operations.")
    return "\n".join(lines)


def _concerned(
    op: int, operation: Operation, reasons: Collection[Dependency]
) -> Iterator[MicroOperation]:
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
    """Returns the reason, as text, why the first operation of a dependency must precede the second.

    `names` maps each operation of the cycle to a short name, such as `T1`.
    """
    first, second = names[step.first], names[step.second]
    before, after = operations[step.first], operations[step.second]
    match step.kind:
        case "ww":
            sent = _record(before, Send, step.key, step.value)
            following = _record(after, Send, step.key, step.next_value)
            return f"{first} sent {sent}, and {second} sent {following}, the next record of the key"
        case "wr":
            polled = _record(after, Poll, step.key, step.value)
            return f"{second} polled {polled}, which {first} sent"
        case "rw":
            polled = _record(before, Poll, step.key, step.value)
            following = _record(after, Send, step.key, step.next_value)
            return (
                f"{first} polled no further than {polled}, and {second} sent the next, {following}"
            )
        case "process":
            return f"process {before.process} ran {first} before {second}"
        case "realtime":
            return (
                f"{first} completed at {in_ms(before.completed_ns)}, and {second} was invoked "
                f"after that, at {in_ms(after.invoked_ns)}"
            )
    raise AssertionError(step)


def _record(operation: Operation, kind: type[Send] | type[Poll], key: str, value: str) -> str:
    recorded = [
        micro
        for micro in operation.did
        if isinstance(micro, Send | Poll) and isinstance(micro, kind)
        if (micro.key, micro.value) == (key, value)
    ]
    offset = "" if recorded[0].offset is None else f"@{recorded[0].offset}"
    return f"{key}={value}{offset}"
