"""Many histories told as one that says what each of them said: one follows the other.

Every history gets keys, values, groups, transactional ids, processes and a time of its own; offsets
stay as they are. What a definition brings together shares one of these, or goes around in a circle,
and no circle leads back in time: in the whole a definition finds what it finds in each. (Told at
the same time they would not be apart: what happened in one may close a circle that time leaves open
in another. Nor would they with the same values: all keys that name no topic share one.)

Three things differ. Operations have new numbers, in the same order within each history: what never
completed comes last in the whole. `Unseen` counts the operations behind one, whosever they are. And
what was observed is counted of all together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final

from model.histories import History, MicroOperation, Operation, Poll, Send
from properties.anomalies.log.unseen import Unseen

NAMES_OPERATIONS: Final = ("op", "ops", "_by")  # how fields of rows end that do
NEVER: Final = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Histories that have nothing in common, and the whole that they are."""

    each: tuple[History, ...]
    whole: History
    numbers: tuple[tuple[int, ...], ...]  # in the whole, of the operations of each

    def renumbered(self, row: Any, which: int) -> Any:
        """What a row of this history is in the whole."""
        new: dict[str, Any] = {}
        for field in fields(row):
            told = getattr(row, field.name)
            if field.name.endswith(NAMES_OPERATIONS):
                new[field.name] = _numbered(told, self.numbers[which])
            elif is_dataclass(told):
                new[field.name] = self.renumbered(told, which)
        if isinstance(row, Unseen):
            new["later"] = len(self.whole) - 1 - new["writer_op"]
        return replace(row, **new)

    def of_each(self, find: Callable[[History], Sequence[Any]]) -> list[Any]:
        """What is found in each of them, as it is in the whole."""
        return [self.renumbered(row, n) for n, h in enumerate(self.each) for row in find(h)]


def joined(histories: Sequence[History]) -> Joined:
    """The histories, each in the order of its completions, one after another."""
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
    """The name as this history has it to itself: `17.orders-0`."""
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


def _numbered(told: int | tuple[int, ...], numbers: tuple[int, ...]) -> int | tuple[int, ...]:
    return numbers[told] if isinstance(told, int) else tuple(numbers[op] for op in told)
