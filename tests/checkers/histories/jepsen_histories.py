"""Generated histories as Jepsen's EDN, with integers as values. They are compared with Jepsen's
checker.

Jepsen's checker accepts less than Urteil: only sends, polls and assignments, and no isolation
levels. A *well-formed* history sends each value of a log once, polls only values that were sent,
and completes each operation. Its events have different times, because Jepsen orders events by their
place in the history.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from model.histories import Assigned, History, MicroOperation, Operation, Poll, Send
from properties.anomalies.assumptions import ASSUMPTIONS
from tests.checkers.histories.mutated_histories import changed
from tests.checkers.histories.random_histories import random_history

ASSIGNING: Final = frozenset({"assign", "subscribe"})
FS: Final = ASSIGNING | {"send", "poll", "txn"}
OF_RANDOM: Final = ("send", "send", "txn", "txn", "poll", "poll", "poll", "poll", "assign")
NEVER: Final = 1 << 60
SETTLED: Final = (0.0, 0.7, 0.95)  # the part of the observations that agree with one log


def jepsen_history(seed: int) -> History:
    """Returns a well-formed history. If the seed is even, it is a history of a small cluster;
    otherwise, its operations are random.

    It is empty if the generated history breaks an assumption of the analysis.
    """
    if seed % 2:
        made = random_history(seed, fs=OF_RANDOM, settled=SETTLED[seed // 2 % len(SETTLED)])
    else:
        made = changed(seed, steps=(200, 400))
    if any(one.find(made) for one in ASSUMPTIONS):
        return ()
    kept = _sent_once([_kept(it) for it in made if it.f in FS])
    sent = {(it.key, it.value) for one in kept for it in one.did if isinstance(it, Send)}
    known = (_without_unknown(it, sent) for it in kept)
    return _with_small_offsets([it for it in known if it.did or it.f in ASSIGNING])


def _sent_once(history: list[Operation]) -> list[Operation]:
    sent = set[tuple[str, str]]()
    once: list[Operation] = []
    for it in history:
        did: list[MicroOperation] = []
        for micro in it.did:
            if not isinstance(micro, Send):
                did.append(micro)
            elif (micro.key, micro.value) not in sent:
                sent.add((micro.key, micro.value))
                did.append(micro)
        once.append(replace(it, did=tuple(did)))
    return once


def _with_small_offsets(history: list[Operation]) -> History:
    """Returns the history with other offsets in the same order: 0, 1, 2 and so on.

    Jepsen's checker has a vector with a place for each offset up to the highest one, so high
    offsets would need too much memory.
    """
    shown = {it.offset for one in history for it in one.did if isinstance(it, Send | Poll)}
    small = {offset: n for n, offset in enumerate(sorted(at for at in shown if at is not None))}

    def moved(micro: MicroOperation) -> MicroOperation:
        if isinstance(micro, Send | Poll) and micro.offset is not None:
            return replace(micro, offset=small[micro.offset])
        return micro

    return tuple(replace(it, did=tuple(map(moved, it.did))) for it in history)


def _kept(it: Operation) -> Operation:
    did = tuple(
        micro
        for micro in it.did
        if (isinstance(micro, Assigned) and it.f in ASSIGNING)
        or isinstance(micro, Send)
        or (isinstance(micro, Poll) and micro.offset is not None)
    )
    return replace(it, did=did, isolation=None)


def _without_unknown(it: Operation, sent: set[tuple[str, str]]) -> Operation:
    did = (m for m in it.did if not isinstance(m, Poll) or (m.key, m.value) in sent)
    return replace(it, did=tuple(did))


@dataclass(frozen=True, slots=True)
class _Event:
    it: Operation
    ended: str
    keys: tuple[str, ...]
    values: tuple[str, ...]

    def __str__(self) -> str:
        value = " ".join(self._micro(kind, [*some]) for kind, some in groupby(self.it.did, type))
        return f":type :{self.ended} :process {self.it.process} :f :{self.it.f} :value [{value}]"

    def _micro(self, kind: type[MicroOperation], some: list[MicroOperation]) -> str:
        if kind is Assigned:
            return " ".join(self._key(it) for it in some)
        if kind is Send:
            return " ".join(f"[:send {self._key(it)} {self._sent(it)}]" for it in some)
        if self.ended != "ok":
            return "[:poll]"
        of_key = (
            f"{self._key(it)} [{' '.join(self._polled(one) for one in some if one.key == it.key)}]"
            for it in {one.key: one for one in some}.values()
        )
        return f"[:poll {{{', '.join(of_key)}}}]"

    def _key(self, it: MicroOperation) -> str:
        return str(self.keys.index(it.key))

    def _sent(self, it: MicroOperation) -> str:
        assert isinstance(it, Send)
        known = self.ended != "invoke" and it.offset is not None
        value = self.values.index(it.value)
        return f"[{it.offset} {value}]" if known else str(value)

    def _polled(self, it: MicroOperation) -> str:
        assert isinstance(it, Poll)
        return f"[{it.offset} {self.values.index(it.value)}]"


def in_edn(history: History) -> str:
    """Returns the history in EDN: an event on each line, in the order of time."""
    did = [micro for it in history for micro in it.did]
    keys = tuple(sorted({it.key for it in did}))
    values = tuple(sorted({it.value for it in did if isinstance(it, Send | Poll)}))
    events: list[tuple[int, int, _Event]] = []
    # Of the events of a process at one instant, the earlier operation comes first.
    in_turn = sorted(history, key=lambda it: (it.invoked_ns, it.completed_ns or 0))
    for number, it in enumerate(in_turn):
        events.append((it.invoked_ns, 2 * number, _Event(it, "invoke", keys, values)))
        ended_ns = NEVER if it.completed_ns is None else it.completed_ns
        events.append((ended_ns, 2 * number + 1, _Event(it, it.outcome, keys, values)))
    events.sort(key=lambda at: at[:2])
    return "".join(
        f"{{:index {index} :time {10 * index} {event}}}\n"
        for index, (_, _, event) in enumerate(events)
    )
