"""Dependencies: which operation must precede which other operation, because of records or of time.

Each row of this table has a kind of dependency, and the condition under which one operation ("the
first") must precede another operation ("the second"):

    ww        the first sent a value, and the second sent the next value in the same log
    wr        the first sent a value that the second polled
    rw        the first polled a log up to some value, and the second sent the next value
    process   the first ended ok, and the same process then ran the second
    realtime  the first ended ok before the second was invoked

The dependencies ww, wr and rw exist whatever the outcomes of the two operations are, because the
log proves them. The dependencies through time (process and realtime) require that the first
operation ended ok. An operation with another outcome may take effect later. If an operation has no
ww or wr dependency, it has no dependencies through time.

The next value of a log is the value at the next known offset. An offset is known if a poll or an
acknowledgement proves its value. If the next known offset has several values, each of them is a
next value. A value that was observed at several offsets counts only at the largest of these
offsets. If an operation polled several values of a topic partition, only the last of them has an rw
dependency, because the next poll continues after this value.

Source: Adya, "Weak Consistency"; Elle's wr and ww graphs of jepsen.tests.kafka, and the rw graph
that is commented out there.
Simplified: if an offset has several values, Jepsen uses only one of them (`order.ranking`). If a
value has no sender, Jepsen stops the analysis; in Urteil, such a value has no dependency. Two
events at the same instant are concurrent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, get_args

from model.histories import History, Poll, Send
from properties.anomalies.observations import KeyValue, locations, senders
from properties.anomalies.remembered import remembered

Kind = Literal["ww", "wr", "rw", "process", "realtime"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Dependency:
    """A reason why the operation `first` must precede the operation `second`.

    If the reason is time (the kinds process and realtime), `key`, `value` and `next_value` are
    empty.
    """

    first: int
    second: int
    kind: Kind
    key: str = ""
    value: str = ""  # sent by the first; for rw polled by the first
    next_value: str = ""  # for ww and rw: sent by the second


@remembered
def sender_of(history: History) -> dict[KeyValue, int]:
    """Maps each pair (topic partition, value) to the operation that counts as the sender of the
    value.

    The sender is the last operation, by number, that sent the value and did not fail. If all
    operations that sent the value failed, the sender is the last of them.
    """
    return {
        key_value: max(ops, key=lambda op: (history[op].outcome != "fail", op))
        for key_value, ops in senders(history).items()
    }


@remembered
def next_values(history: History) -> tuple[tuple[str, int, str, str], ...]:
    """Returns (topic partition, offset, value, next value) for every two values at neighbouring
    offsets of a log.

    An offset is included only if a poll or an acknowledgement proves its value.
    """
    log: defaultdict[str, defaultdict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    located = locations(history)
    found: list[tuple[str, int, str, str]] = []
    for (key, value), of_value in located.items():
        for offset in of_value:
            log[key][offset].append(value)
    for key, of_key in log.items():
        offsets = sorted(of_key)
        for before, after in pairwise(offsets):
            for following in of_key[after]:
                if located[key, following][-1] == after:
                    found += [(key, before, value, following) for value in of_key[before]]
    return tuple(found)


@remembered
def write_dependencies(history: History) -> tuple[Dependency, ...]:
    """Returns the ww dependencies.

    A ww dependency leads from the sender of a value to the sender of the next value in the log.
    """
    sender, found = sender_of(history), list[Dependency]()
    for key, _, value, following in next_values(history):
        first, second = sender.get((key, value)), sender.get((key, following))
        if first is not None and second is not None and first != second:
            found.append(
                Dependency(
                    first=first,
                    second=second,
                    kind="ww",
                    key=key,
                    value=value,
                    next_value=following,
                )
            )
    return tuple(found)


@remembered
def read_dependencies(history: History) -> tuple[Dependency, ...]:
    """Returns the wr dependencies, one for each polled record.

    A wr dependency leads from the sender of the record to the operation that polled the record.
    """
    sender, found = sender_of(history), list[Dependency]()
    for number, operation in enumerate(history):
        for micro in operation.did:
            if isinstance(micro, Poll):
                first = sender.get((micro.key, micro.value))
                if first is not None and first != number:
                    found.append(
                        Dependency(
                            first=first, second=number, kind="wr", key=micro.key, value=micro.value
                        )
                    )
    return tuple(found)


def possible_steps(
    history: History, kinds: Collection[Kind], *, ww_deps: bool
) -> Iterator[Dependency]:
    """Yields each wr dependency that can be part of a cycle whose dependencies have these kinds.

    A wr dependency leads from a sender to a reader. The cycle needs another dependency that begins
    at the reader, so the reader must also send some record. The cycle also needs a dependency that
    ends at the sender, so the sender must also poll some record, or `ww_deps` must be True.

    If `kinds` has `process`, the reader need not send by itself: a later operation of its process
    may send. In the same way, an earlier operation of the sender's process may poll. If `kinds` has
    `realtime`, the function yields every wr dependency.
    """

    sending, polling = (
        [n for n, it in enumerate(history) if any(isinstance(micro, kind) for micro in it.did)]
        for kind in (Send, Poll)
    )

    def together(first: int, second: int) -> bool:
        same = history[first].process == history[second].process
        in_order = "process" in kinds and first < second and history[first].outcome == "ok"
        return first == second or (same and in_order)

    for one in read_dependencies(history):
        leads_on = any(together(one.second, op) for op in sending)
        led_to = ww_deps or any(together(op, one.first) for op in polling)
        if "realtime" in kinds or (leads_on and led_to):
            yield one


@remembered
def anti_dependencies(history: History) -> tuple[Dependency, ...]:
    """Returns the rw dependencies.

    An rw dependency leads from an operation that polled a value to the sender of the next value in
    the log. It exists only for the last value that the operation polled from the topic partition.
    """
    sender, located, found = sender_of(history), locations(history), list[Dependency]()
    following: defaultdict[tuple[str, int, str], list[str]] = defaultdict(list)
    for key, offset, value, after in next_values(history):
        following[key, offset, value].append(after)
    for number, operation in enumerate(history):
        polled = {
            (micro.key, located[micro.key, micro.value][-1], micro.value)
            for micro in operation.did
            if isinstance(micro, Poll) and (micro.key, micro.value) in located
        }
        furthest = {key: max(at for of, at, _ in polled if of == key) for key, _, _ in polled}
        for key, offset, value in polled:
            for after in following[key, offset, value] if offset == furthest[key] else ():
                second = sender.get((key, after))
                if second is not None and second != number:
                    found.append(
                        Dependency(
                            first=number,
                            second=second,
                            kind="rw",
                            key=key,
                            value=value,
                            next_value=after,
                        )
                    )
    return tuple(found)


def time_dependencies(history: History, among: Collection[int]) -> Iterator[Dependency]:
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
