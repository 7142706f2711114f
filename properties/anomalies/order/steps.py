"""Steps: two values of a key that one process polled, or sent, one directly after the other.

Inside an operation every two neighbours among what it polled of a key are a step, and every two
neighbours among what it sent to the key. Polls of a key that a rebalance touched meanwhile need not
follow on: they are no steps.

Between operations of a process the consumer must go on where it stood: what it polled last of the
key in an operation that ended `ok`, and what it polls first in the next that polls the key, however
that ends: one that did not end `ok` must be repeated, and moves nothing. For sends the step goes
from the last of an operation that did not fail to the first of the next that did not. An `assign`
or `subscribe` that did not fail forgets the keys that it leaves out: of these the next operation is
the first.

How far a step went is told by the places at which its two values rank (`ranking`); of a value at
several offsets the last counts. A step of which a place is not known proves nothing.

Source: jepsen.tests.kafka, the six passes that look for skips and nonmonotonic cases.
Simplified: in Jepsen a poll that ended `ok` and says of a key that nothing came makes the consumer
forget where it stood in that key; here it stands where it stood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from model.histories import History, Operation, Poll, Rebalanced, Send
from properties.anomalies.order.ranking import ranks

ASSIGNING: Final = frozenset({"assign", "subscribe"})
Kind = type[Poll] | type[Send]


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Step:
    """From one value of a key to the next, and where they lie."""

    key: str
    second_op: int
    second_position: int  # of the micro-operation inside its operation
    second_value: str
    second_offset: int
    first_op: int
    first_value: str
    first_offset: int

    @property
    def size(self) -> int:
        """How far back it goes; 0 stays where it is."""
        return self.first_offset - self.second_offset

    @property
    def ops(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys((self.first_op, self.second_op)))


Steps = Callable[[History], Iterator[Step]]


@dataclass(frozen=True, slots=True)
class _Seen:
    """A record that an operation polled, or sent."""

    op: int
    position: int
    value: str


def _runs(number: int, operation: Operation, kind: Kind) -> dict[str, list[_Seen]]:
    """What the operation polled, or sent, of each key, in order."""
    runs: dict[str, list[_Seen]] = {}
    for position, micro in enumerate(operation.did):
        if isinstance(micro, kind):
            runs.setdefault(micro.key, []).append(_Seen(number, position, micro.value))
    return runs


def _placed(history: History, pairs: Iterator[tuple[str, _Seen, _Seen]]) -> Iterator[Step]:
    place = ranks(history)
    for key, first, second in pairs:
        if (key, first.value) in place and (key, second.value) in place:
            yield Step(
                key=key,
                second_op=second.op,
                second_position=second.position,
                second_value=second.value,
                second_offset=place[key, second.value],
                first_op=first.op,
                first_value=first.value,
                first_offset=place[key, first.value],
            )


def _within(history: History, kind: Kind) -> Iterator[tuple[str, _Seen, _Seen]]:
    for number, operation in enumerate(history):
        touched = {micro.key for micro in operation.did if isinstance(micro, Rebalanced)}
        for key, run in _runs(number, operation, kind).items():
            if kind is Send or key not in touched:
                yield from ((key, first, second) for first, second in pairwise(run))


def _between(history: History, kind: Kind) -> Iterator[tuple[str, _Seen, _Seen]]:
    stands: dict[int, dict[str, _Seen]] = {}  # process -> key -> where the next step begins
    for number, operation in enumerate(history):
        last = stands.setdefault(operation.process, {})
        happened = operation.outcome != "fail"
        if operation.f in ASSIGNING:
            if happened:
                kept = {micro.key for micro in operation.did}
                stands[operation.process] = {k: seen for k, seen in last.items() if k in kept}
            continue
        for key, run in _runs(number, operation, kind).items():
            if key in last and (kind is Poll or happened):
                yield key, last[key], run[0]
            if operation.outcome == "ok" or (kind is Send and happened):
                last[key] = run[-1]


def polls_within(history: History) -> Iterator[Step]:
    """The steps of polls inside operations."""
    return _placed(history, _within(history, Poll))


def sends_within(history: History) -> Iterator[Step]:
    """The steps of sends inside operations."""
    return _placed(history, _within(history, Send))


def polls_between(history: History) -> Iterator[Step]:
    """The steps of polls from one operation of a process to the next."""
    return _placed(history, _between(history, Poll))


def sends_between(history: History) -> Iterator[Step]:
    """The steps of sends from one operation of a process to the next."""
    return _placed(history, _between(history, Send))
