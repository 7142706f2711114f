"""Joins many histories into one, so that one analysis finds the anomalies of each history.

Each history gets its own keys, values, groups, transactional ids, processes and time interval. So
no anomaly can arise from operations of two histories. Offsets do not change.

Three results of the joined history differ from the results of the separate histories:

    operation numbers    are new; operations that never completed come last
    unseen writes        `later`, the number of later operations, includes those of other histories
    observations         the count is the sum over all histories
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final

from model.histories import History, MicroOperation, Operation, Poll, Send
from properties.anomalies.log.unseen import Unseen

OPERATION_FIELDS: Final = ("op", "ops", "_by")  # the ends of the names of fields with operations
NEVER: Final = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Several histories that share no key, value or process, and one history that joins them."""

    each: tuple[History, ...]
    whole: History
    numbers: tuple[tuple[int, ...], ...]  # of the operations of each, in the joined history

    def renumbered(self, row: Any, which: int) -> Any:
        new: dict[str, Any] = {}
        for field in fields(row):
            cell = getattr(row, field.name)
            if field.name.endswith(OPERATION_FIELDS):
                new[field.name] = _numbered(cell, self.numbers[which])
            elif is_dataclass(cell):
                new[field.name] = self.renumbered(cell, which)
        if isinstance(row, Unseen):
            new["later"] = len(self.whole) - 1 - new["writer_op"]
        return replace(row, **new)

    def mapped(self, change: Callable[[History], History]) -> Joined:
        """Applies `change` to each history, and joins the results. `change` must keep the number of
        operations.
        """
        each = tuple(map(change, self.each))
        whole: list[Operation] = list(self.whole)
        for numbers, h in zip(self.numbers, each, strict=True):
            for number, it in zip(numbers, h, strict=True):
                whole[number] = it
        return replace(self, each=each, whole=tuple(whole))

    def rows_of_each_history(self, find: Callable[[History], Sequence[Any]]) -> list[Any]:
        """Finds the violations in each history separately, and returns all of them in one list.

        The operation numbers are those of the joined history.
        """
        return [row for which in range(len(self.each)) for row in self.rows_of(which, find)]

    def rows_of(self, which: int, find: Callable[[History], Sequence[Any]]) -> list[Any]:
        """Finds the violations in the history `each[which]`. The operation numbers in the result
        are those of the joined history.

        The histories in `each` are joined to one history, in this order.
        """
        return [self.renumbered(row, which) for row in find(self.each[which])]


def joined(histories: Sequence[History]) -> Joined:
    each: list[History] = []
    now_ns = 0
    for which, h in enumerate(histories):
        each.append(tuple(_own(it, which, len(histories), now_ns) for it in h))
        now_ns = max((_last_ns(it) for it in each[-1]), default=now_ns) + 1
    places = [(which, place) for which, h in enumerate(each) for place in range(len(h))]
    places.sort(key=lambda at: _completed(each[at[0]][at[1]]))
    numbers: list[list[int]] = [[] for _ in each]
    for number, (which, _) in enumerate(places):
        numbers[which].append(number)
    return Joined(
        each=tuple(each),
        whole=tuple(each[which][place] for which, place in places),
        numbers=tuple(map(tuple, numbers)),
    )


def own(name: str, which: int) -> str:
    return f"{which}.{name}"


def _own(it: Operation, which: int, of: int, begin_ns: int) -> Operation:
    def later(at_ns: int | None) -> int | None:
        return None if at_ns is None else begin_ns + at_ns

    return replace(
        it,
        process=it.process * of + which,
        invoked_ns=begin_ns + it.invoked_ns,
        completed_ns=later(it.completed_ns),
        did=tuple(_of_own(micro, which) for micro in it.did),
        transactional_id=it.transactional_id and own(it.transactional_id, which),
        group=it.group and own(it.group, which),
        end_asked_ns=later(it.end_asked_ns),
    )


def _of_own(micro: MicroOperation, which: int) -> MicroOperation:
    if isinstance(micro, Send | Poll):
        return replace(micro, key=own(micro.key, which), value=own(micro.value, which))
    return replace(micro, key=own(micro.key, which))


def _last_ns(it: Operation) -> int:
    return max(it.invoked_ns, it.completed_ns or 0)


def _completed(it: Operation) -> float:
    return NEVER if it.completed_ns is None else it.completed_ns


def _numbered(ops: int | tuple[int, ...], numbers: tuple[int, ...]) -> int | tuple[int, ...]:
    return numbers[ops] if isinstance(ops, int) else tuple(numbers[op] for op in ops)
