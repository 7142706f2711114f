"""Which operations must come before which: dependencies through records, and through time.

    ww        the first sent a value, the second the next value in the log of the key
    wr        the first sent a value that the second polled
    rw        the first polled a value as its last of the key, the second sent the next value
    process   the first ended ok, and its process then did the second
    realtime  the first ended ok before the second was invoked

Records count however the operations around them ended: consumers are only given what is safe, and
what was polled was sent. Time counts only behind an operation that ended ok, since what another did
may happen later; and only between operations that depend on others through records, since time
alone makes no cycle, and passes through all others.

The next value is that at the next offset where the history shows a record; of a value at several
offsets the last counts, and at an offset with several values each is next. For a log `rw` is weak:
a poll returns a stretch, and readers poll on. Only the last value of the stretch says what its
reader had not seen; and that the reader is behind is no fault, until a cycle shows that it was also
ahead: it knows something that came after what it missed.

Source: Adya, "Weak Consistency"; Elle's wr and ww graphs of jepsen.tests.kafka, and the rw graph
that is commented out there.
Simplified: Jepsen ranks one of several values at an offset, and gives up on a value that nobody
sent; here that value comes from nowhere. Events at one instant are concurrent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, get_args

from model.histories import History, Poll
from properties.anomalies.observations import KeyValue, places, senders

Kind = Literal["ww", "wr", "rw", "process", "realtime"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Dependency:
    """The operation `first` comes before `second`; key and values are empty of process and time."""

    first: int
    second: int
    kind: Kind
    key: str = ""
    value: str = ""  # sent by the first; of rw polled by it
    next_value: str = ""  # of ww and rw: sent by the second


def sender_of(history: History) -> dict[KeyValue, int]:
    """For each key and value the operation that sent it: the last, a failed one if no other did."""
    return {
        key_value: max(ops, key=lambda op: (history[op].outcome != "fail", op))
        for key_value, ops in senders(history).items()
    }


def next_values(history: History) -> Iterator[tuple[str, int, str, str]]:
    """Key, offset, value and next value, for all neighbours in the logs."""
    log: defaultdict[str, defaultdict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    lies = places(history)
    for (key, value), of_value in lies.items():
        for offset in of_value:
            log[key][offset].append(value)
    for key, of_key in log.items():
        offsets = sorted(of_key)
        for before, after in pairwise(offsets):
            for following in of_key[after]:
                if lies[key, following][-1] == after:
                    yield from ((key, before, value, following) for value in of_key[before])


def write_dependencies(history: History) -> Iterator[Dependency]:
    """The ww dependencies."""
    sender = sender_of(history)
    for key, _, value, following in next_values(history):
        first, second = sender.get((key, value)), sender.get((key, following))
        if first is not None and second is not None and first != second:
            yield Dependency(
                first=first,
                second=second,
                kind="ww",
                key=key,
                value=value,
                next_value=following,
            )


def read_dependencies(history: History) -> Iterator[Dependency]:
    """The wr dependencies, one for each record that was polled."""
    sender = sender_of(history)
    for number, operation in enumerate(history):
        for micro in operation.did:
            if isinstance(micro, Poll):
                first = sender.get((micro.key, micro.value))
                if first is not None and first != number:
                    yield Dependency(
                        first=first, second=number, kind="wr", key=micro.key, value=micro.value
                    )


def anti_dependencies(history: History) -> Iterator[Dependency]:
    """The rw dependencies."""
    sender, lies = sender_of(history), places(history)
    following: defaultdict[tuple[str, int, str], list[str]] = defaultdict(list)
    for key, offset, value, after in next_values(history):
        following[key, offset, value].append(after)
    for number, operation in enumerate(history):
        polled = {
            (micro.key, lies[micro.key, micro.value][-1], micro.value)
            for micro in operation.did
            if isinstance(micro, Poll) and (micro.key, micro.value) in lies
        }
        furthest = {key: max(at for of, at, _ in polled if of == key) for key, _, _ in polled}
        for key, offset, value in polled:
            for after in following[key, offset, value] if offset == furthest[key] else ():
                second = sender.get((key, after))
                if second is not None and second != number:
                    yield Dependency(
                        first=number,
                        second=second,
                        kind="rw",
                        key=key,
                        value=value,
                        next_value=after,
                    )


def time_dependencies(history: History, among: Collection[int]) -> Iterator[Dependency]:
    """The process and realtime dependencies between any two of these operations."""
    for number in sorted(among):
        first = history[number]
        if first.outcome != "ok" or first.completed_ns is None:
            continue
        for later in sorted(among):
            second = history[later]
            if first.process == second.process and number < later:
                yield Dependency(first=number, second=later, kind="process")
            if first.completed_ns < second.invoked_ns:
                yield Dependency(first=number, second=later, kind="realtime")
