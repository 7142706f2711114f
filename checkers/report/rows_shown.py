"""Builds an event for each of the 32 worst occurrences of an anomaly, for reports.

The 8 worst occurrences also have operations for a timeline. These are the operations that the
occurrence names, and up to 20 other operations with near numbers. Operations on a key of the
occurrence are preferred.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

from checkers.events import EdgeShown, FaultShown, OperationShown, RowShown
from checkers.histories.analysis import NAMED, PICTURED
from checkers.report.markup import shortened
from checkers.report.shapes import shape_of_row
from model.history_notation import show
from properties.anomalies.cycles.cycle import Cycle, steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from checkers.histories.analysis import Analysis, Decision
    from checkers.histories.io.faults import Fault
    from model.histories import MicroOperation, Operation
    from properties.anomalies.anomaly import Row

NEARBY: Final = 20  # operations of a picture in addition to those of its row
MICRO_OPERATIONS: Final = 4  # of one operation
LONGEST: Final = 200  # characters of an operation's text
_KEY: Final = re.compile(r"(\w+_)?keys?")  # names of fields that hold keys


def since_start(analysis: Analysis) -> dict[int, Operation]:
    """Returns the operations that reports display, by number. Their times are relative to the
    start of the history.
    """
    return {op: _since(analysis.started_ns, it) for op, it in analysis.shown.items()}


def _since(started_ns: int, operation: Operation) -> Operation:
    ended_ns, asked_ns = operation.completed_ns, operation.end_asked_ns
    return replace(
        operation,
        invoked_ns=operation.invoked_ns - started_ns,
        completed_ns=None if ended_ns is None else ended_ns - started_ns,
        end_asked_ns=None if asked_ns is None else asked_ns - started_ns,
    )


def faults_shown(faults: Iterable[Fault], analysis: Analysis) -> tuple[FaultShown, ...]:
    began = analysis.started_ns
    return tuple(
        FaultShown(
            description=f"{one.do} broker {one.node}",
            from_ns=one.from_ns - began,
            until_ns=None if one.until_ns is None else one.until_ns - began,
        )
        for one in faults
    )


def rows_shown(
    analysis: Analysis, decision: Decision, history: str, faults: Sequence[FaultShown] = ()
) -> Iterator[RowShown]:
    """Yields an event for each of the 32 worst occurrences of an anomaly, the worst first.

    Only the first 8 events have operations and faults.
    """
    operations = since_start(analysis)
    for number, row in enumerate(decision.worst, 1):
        nearby = _operations_near(row, operations) if number <= PICTURED else ()
        yield RowShown(
            anomaly=decision.anomaly.id,
            history=history,
            number=number,
            text=decision.anomaly.explain(row, operations),
            ops=tuple(dict.fromkeys(row.ops)),
            operations=nearby,
            faults=tuple(fault for fault in faults if _overlaps(fault, nearby)),
            edges=tuple(_edges(row)),
            shape=shape_of_row(row, analysis.shown),
        )


def _edges(row: Row) -> Iterator[EdgeShown]:
    if not isinstance(row, Cycle):
        return
    for step in steps(row):
        reasons = {
            "ww": f"{step.key}: {step.value}, then {step.next_value}",
            "wr": f"{step.key}={step.value}",
            "rw": f"{step.key}: {step.value}, not yet {step.next_value}",
        }
        yield EdgeShown(
            source=step.first, target=step.second, kind=step.kind, reason=reasons.get(step.kind, "")
        )


def _operations_near(row: Row, operations: Mapping[int, Operation]) -> tuple[OperationShown, ...]:
    about = _About.of(row)
    marked = [op for op in dict.fromkeys(row.ops[:NAMED]) if op in operations]

    def far(op: int) -> tuple[bool, int, int]:
        distance = min((abs(op - one) for one in marked), default=0)
        return not about.concerns(operations[op]), distance, op

    others = sorted((op for op in operations if op not in marked), key=far)
    near = [op for op in others if far(op)[1] <= NEARBY][:NEARBY]
    shown = (_shown(op, operations[op], about) for op in [*marked, *near])
    return tuple(sorted(shown, key=lambda one: (one.invoked_ns, one.op)))


def _shown(op: int, operation: Operation, about: _About) -> OperationShown:
    return OperationShown(
        op=op,
        process=operation.process,
        outcome=operation.outcome,
        invoked_ns=operation.invoked_ns,
        completed_ns=operation.completed_ns,
        text=about.text(operation),
        label=about.brief(operation),
        relevant=about.concerns(operation),
    )


@dataclass(frozen=True, slots=True)
class _About:
    keys: frozenset[str]
    named: frozenset[str | int]

    @classmethod
    def of(cls, row: Row) -> _About:
        made: Any = row
        parts = {field.name: [*_scalars([getattr(row, field.name)])] for field in fields(made)}
        keys = {key for name, cells in parts.items() if _KEY.fullmatch(name) for key in cells}
        named = {
            cell
            for name, cells in parts.items()
            for cell in cells
            if isinstance(cell, str) or "offset" in name  # other numbers are operations
        }
        return cls(frozenset(key for key in keys if isinstance(key, str) and key), frozenset(named))

    def concerns(self, operation: Operation) -> bool:
        return not self.keys or any(micro.key in self.keys for micro in operation.did)

    def text(self, operation: Operation) -> str:
        """Returns an operation as text, with at most 4 of its records. Records that the
        violation names are preferred.
        """
        micros, more = self._of_concern(operation)
        text = shortened(show(replace(operation, did=micros)), LONGEST)
        return f"{text}  (and {more:,} more)" if more else text

    def brief(self, operation: Operation) -> str:
        """Returns an operation in a few words, such as `poll k=a@5`. If the violation has only
        one key, the key is omitted.
        """
        micros, more = self._of_concern(operation)
        ended = operation.outcome if operation.completed_ns is not None else "never"
        parts = [
            operation.f,
            *(_brief(micro, with_key=len(self.keys) != 1) for micro in micros),
            f"+{more:,}" if more else "",
            "" if ended == "ok" else ended,
        ]
        return " ".join(filter(None, parts))

    def _of_concern(self, operation: Operation) -> tuple[tuple[MicroOperation, ...], int]:
        of_keys = [micro for micro in operation.did if not self.keys or micro.key in self.keys]
        chosen = [micro for micro in of_keys if self._names(micro)] or of_keys
        chosen = chosen[:MICRO_OPERATIONS]
        return tuple(chosen), len(operation.did) - len(chosen)

    def _names(self, micro: MicroOperation) -> bool:
        cells = getattr(micro, "value", None), getattr(micro, "offset", None)
        return any(cell in self.named for cell in cells if cell is not None)


def _brief(micro: MicroOperation, *, with_key: bool) -> str:
    value, offset = getattr(micro, "value", None), getattr(micro, "offset", None)
    place = "" if offset is None else f"@{offset}"
    if value is None:
        return f"{micro.key}{place}" if with_key or not place else place
    return f"{micro.key}={value}{place}" if with_key else f"{value}{place}"


def _scalars(of: Iterable[Any]) -> Iterator[str | int]:
    for one in of:
        if isinstance(one, str | int):
            yield one
        elif isinstance(one, tuple | list | frozenset):
            yield from _scalars(one)


def _overlaps(fault: FaultShown, operations: Sequence[OperationShown]) -> bool:
    if not operations:
        return False
    first = min(one.invoked_ns for one in operations)
    last = max(one.completed_ns or one.invoked_ns for one in operations)
    return fault.from_ns <= last and (fault.until_ns is None or fault.until_ns >= first)
