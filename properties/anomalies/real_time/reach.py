"""How far a log was known to reach, and by what.

The log of a key reaches e if every record appended from now on gets an offset of e or more. What an
operation that ended ok was told is a fact from its completion on:

    a send acknowledged at o    it reaches o + 1
    a record polled at o        it reaches o + 1
    an end h that was read      it reaches h, at either isolation level

The last stable offset is how far readers at `read_committed` may go. An open transaction holds it
back, legally and for as long as it is open; the markers of one that ended may come late. So an
acknowledged send says nothing of it. It only moves on too, and is known to have passed what was
polled at `read_committed`, and what was read as an end at that level. Where no transaction of the
history sends to the key, nothing holds it back: then it is the end of the log, and all facts count.

Facts of operations that did not end ok are left out, and all that is empty: a poll that returns
nothing proves nothing. A fetch may return before it has data, and the high watermark of a new
leader may lag until its followers have caught up (KIP-207).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from model.histories import EndOffset, History, Operation, Poll, Send

By = Literal["send", "poll", "end_offset"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A fact: from `completed_ns` on the log of the key reached `end`."""

    key: str
    end: int
    by: By
    op: int
    position: int
    completed_ns: int
    stable: bool  # so did the last stable offset

    def breaks(self, key: str, offset: int, invoked_ns: int) -> bool:
        """An operation invoked then must not be told that the log of the key ends at the offset."""
        return self.key == key and self.completed_ns < invoked_ns and self.end > offset


def committed(operation: Operation) -> bool:
    """It reads at `read_committed`, which is what is declared where nothing is."""
    return operation.isolation != "read_uncommitted"


def reached(history: History) -> Iterator[Reached]:
    """Every fact of the history."""
    held_back = transactional_keys(history)
    for number, operation in enumerate(history):
        if operation.outcome != "ok" or operation.completed_ns is None:
            continue
        for position, micro in enumerate(operation.did):
            end: int
            by: By
            match micro:
                case Send(key, _, int(offset)):
                    end, by = offset + 1, "send"
                case Poll(key, int(offset), _):
                    end, by = offset + 1, "poll"
                case EndOffset(key, offset):
                    end, by = offset, "end_offset"
                case _:
                    continue
            yield Reached(
                key=key,
                end=end,
                by=by,
                op=number,
                position=position,
                completed_ns=operation.completed_ns,
                stable=key not in held_back or (by != "send" and committed(operation)),
            )


def transactional_keys(history: History) -> frozenset[str]:
    """The keys that a transaction sends to, however it ends."""
    return frozenset(
        micro.key
        for operation in history
        if operation.f == "txn"
        for micro in operation.did
        if isinstance(micro, Send)
    )


def furthest(facts: Collection[Reached]) -> Reached:
    """Of equals the first to complete."""
    return min(facts, key=lambda fact: (-fact.end, fact.completed_ns, fact.op, fact.position))
