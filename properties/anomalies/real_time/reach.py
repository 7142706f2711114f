"""The facts of a history that prove how far a log had reached at some time.

"The log reaches e" means that every record that is appended from now on gets the offset e or a
higher offset. An operation that ended ok can prove such a *fact*. The fact holds from the
completion of the operation on. Each row of this table has an observation and the fact that it
proves:

    a send acknowledged at o    the log reaches o + 1
    a record polled at o        the log reaches o + 1
    an end h that was read      the log reaches h, at either isolation level

A poll without records proves no fact. A fetch may return before it has data, and the high watermark
of a new leader may lag (KIP-207).

A reader at `read_committed` sees the log only up to the last stable offset. If transactions send to
a topic partition, only polls and end offsets at `read_committed` prove how far its last stable
offset has reached. If no transaction sends to a topic partition, every fact in the table also
proves how far the last stable offset has reached.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from model.histories import EndOffset, History, Operation, Poll, Send

By = Literal["send", "poll", "end_offset"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A proof that the end of the log `key` was at `end` or higher from the time `completed_ns`
    on.
    """

    key: str
    end: int
    by: By
    op: int
    position: int
    completed_ns: int
    stable: bool  # the last stable offset reached `end` too

    def breaks(self, key: str, offset: int, invoked_ns: int) -> bool:
        """Returns True if this object proves that the log `key` had passed `offset` before
        `invoked_ns`. If so, an operation that was invoked at `invoked_ns` must not get this offset.
        """
        return self.key == key and self.completed_ns < invoked_ns and self.end > offset


def reads_committed(operation: Operation) -> bool:
    """Returns True if the isolation level of the operation is `read_committed`.

    An operation without a recorded isolation level is treated as `read_committed`.
    """
    return operation.isolation != "read_uncommitted"


def reached(history: History) -> Iterator[Reached]:
    """Yields a proof of how far a log had reached, for each send, each poll and each request for an
    end offset.

    The operation must have ended `ok`, and the history must record the offset.
    """
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
                stable=key not in held_back or (by != "send" and reads_committed(operation)),
            )


def transactional_keys(history: History) -> frozenset[str]:
    """Returns the topic partitions to which transactions send, whatever the outcomes of the
    transactions.
    """
    return frozenset(
        micro.key
        for operation in history
        if operation.f == "txn"
        for micro in operation.did
        if isinstance(micro, Send)
    )


def is_known(
    facts: Collection[Reached], key: str, invoked_ns: int, *, stable: bool = False
) -> bool:
    """Returns True if at least one of `facts` is about the log `key` and completed before
    `invoked_ns`.

    If `stable` is True, the fact must also prove how far the last stable offset had reached.
    """
    return any(
        fact.key == key and fact.completed_ns < invoked_ns and (fact.stable or not stable)
        for fact in facts
    )


def furthest(facts: Collection[Reached]) -> Reached:
    """Returns the fact with the highest log end. If several facts have the highest end, returns the
    one whose operation completed first.
    """
    return min(facts, key=lambda fact: (-fact.end, fact.completed_ns, fact.op, fact.position))
