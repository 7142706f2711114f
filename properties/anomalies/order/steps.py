"""Steps: two values of a log that one process polled, or sent, one directly after the other.

Inside an operation, every two consecutive records of a topic partition that the operation polled
(or sent) are a step. But if a rebalance of the topic partition happened during the operation, there
are no steps between its polls of the topic partition.

A step may also lead from one operation of a process to another operation of the same process. It
leads from the last record of a topic partition in the first operation to the first record of the
same topic partition in the second operation:

- A step of polls begins in an operation that ended `ok`. It ends in the next operation that polls
  the topic partition, whatever the outcome of that operation is.
- A step of sends begins and ends in operations that did not fail.
- If the process calls `assign` or `subscribe` between the two operations, and the call does not
  name the topic partition, there is no step. A rebalance between the two operations does not remove
  the step.

The length of a step is the distance between the offsets at which the process received or appended
the two values (`own_offsets`). With the option --jepsen, `ranking` chooses one offset for each
value. If an offset is unknown, there is no step.

Source: jepsen.tests.kafka, the six passes that look for skips and nonmonotonic cases.
Simplified: in Jepsen, a consumer forgets its position in a topic partition if a poll that ended
`ok` lists the topic partition without any records; in Urteil the consumer retains its position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Protocol

from model.histories import History, Operation, Poll, Rebalanced, Send
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.anomalies.order.own_offsets import own_offsets
from properties.anomalies.order.ranking import ranks
from properties.anomalies.remembered import remembered

ASSIGNING: Final = frozenset({"assign", "subscribe"})
Kind = type[Poll] | type[Send]


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Step:
    """Two values of a log that one process polled, or sent, in direct succession, and the offsets
    of both.
    """

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
        """The number of offsets by which the step goes back. For a step from offset 7 to offset 5,
        it is 2. If the step goes forward, it is negative.
        """
        return self.first_offset - self.second_offset

    @property
    def ops(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys((self.first_op, self.second_op)))


class Steps(Protocol):
    """The type of a function that returns the steps of one kind in a history, such as
    `polls_within`.
    """

    def __call__(
        self, history: History, /, declared: Declarations = NOTHING_DECLARED
    ) -> tuple[Step, ...]: ...


@dataclass(frozen=True, slots=True)
class _Seen:
    op: int
    position: int
    value: str


def _runs(number: int, operation: Operation, kind: Kind) -> dict[str, list[_Seen]]:
    runs: dict[str, list[_Seen]] = {}
    for position, micro in enumerate(operation.did):
        if isinstance(micro, kind):
            runs.setdefault(micro.key, []).append(_Seen(number, position, micro.value))
    return runs


def _offset_of(history: History, declared: Declarations) -> Callable[[str, _Seen], int | None]:
    if declared.jepsen:
        rank = ranks(history)
        return lambda key, seen: rank.get((key, seen.value))
    own = own_offsets(history)
    return lambda _, seen: own.get((seen.op, seen.position))


def _located(
    history: History, declared: Declarations, pairs: Iterator[tuple[str, _Seen, _Seen]]
) -> Iterator[Step]:
    offset_of = _offset_of(history, declared)
    for key, first, second in pairs:
        begin, end = offset_of(key, first), offset_of(key, second)
        if begin is not None and end is not None:
            yield Step(
                key=key,
                second_op=second.op,
                second_position=second.position,
                second_value=second.value,
                second_offset=end,
                first_op=first.op,
                first_value=first.value,
                first_offset=begin,
            )


def _within(history: History, kind: Kind) -> Iterator[tuple[str, _Seen, _Seen]]:
    for number, operation in enumerate(history):
        touched = {micro.key for micro in operation.did if isinstance(micro, Rebalanced)}
        for key, run in _runs(number, operation, kind).items():
            if kind is Send or key not in touched:
                yield from ((key, first, second) for first, second in pairwise(run))


def _between(history: History, kind: Kind) -> Iterator[tuple[str, _Seen, _Seen]]:
    position_of: dict[int, dict[str, _Seen]] = {}  # process -> key -> where the next step begins
    for number, operation in enumerate(history):
        last = position_of.setdefault(operation.process, {})
        happened = operation.outcome != "fail"
        if operation.f in ASSIGNING:
            if happened:
                kept = {micro.key for micro in operation.did}
                position_of[operation.process] = {k: seen for k, seen in last.items() if k in kept}
            continue
        for key, run in _runs(number, operation, kind).items():
            if key in last and (kind is Poll or happened):
                yield key, last[key], run[0]
            if operation.outcome == "ok" or (kind is Send and happened):
                last[key] = run[-1]


@remembered
def polls_within(history: History, declared: Declarations = NOTHING_DECLARED) -> tuple[Step, ...]:
    """Returns a step for every two consecutive records of a log that one operation polled.

    If the topic partition was rebalanced during the operation, the operation has no such steps.
    """
    return tuple(_located(history, declared, _within(history, Poll)))


@remembered
def sends_within(history: History, declared: Declarations = NOTHING_DECLARED) -> tuple[Step, ...]:
    """Returns a `Step` with two offsets for every two consecutive records that one operation sent
    to a log.
    """
    return tuple(_located(history, declared, _within(history, Send)))


@remembered
def polls_between(history: History, declared: Declarations = NOTHING_DECLARED) -> tuple[Step, ...]:
    """Returns a step for every two successive operations in which one process polled the same log.

    For example, the first operation polls the offsets 3 and 4, and the second operation polls the
    offsets 7 and 8. The step leads from offset 4 to offset 7.
    """
    return tuple(_located(history, declared, _between(history, Poll)))


@remembered
def sends_between(history: History, declared: Declarations = NOTHING_DECLARED) -> tuple[Step, ...]:
    """Returns a step for every two successive operations in which one process sent to the same log.

    The step leads from the last record of the first operation to the first record of the second.
    """
    return tuple(_located(history, declared, _between(history, Send)))
