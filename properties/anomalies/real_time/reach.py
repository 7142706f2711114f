"""The facts of a history that prove how far a log had reached at some time.

"The log reaches e" means that every record appended from now on gets offset e or higher. An
operation that ended ok proves such a *fact*, from its completion on:

    a send acknowledged at o    the log reaches o + 1
    a record polled at o        the log reaches o + 1
    an end h that was read      the log reaches h, at either isolation level

An empty poll proves none: a fetch may return before it has data, and a new leader's high watermark
may lag (KIP-207).

Readers at `read_committed` see only the last stable offset. For a key to which transactions send,
only their polls and end offsets prove how far the last stable offset has reached. For any other
key, every fact in the table does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from model.histories import EndOffset, History, Operation, Poll, Send

By = Literal["send", "poll", "end_offset"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A proof that the log `key` ended at `end` or higher from the time `completed_ns` on."""

    key: str
    end: int
    by: By
    op: int
    position: int
    completed_ns: int
    stable: bool  # the last stable offset reached `end` too

    def breaks(self, key: str, offset: int, invoked_ns: int) -> bool:
        """Returns True if an operation invoked at `invoked_ns` must not get `offset`: the log had
        passed it.
        """
        return self.key == key and self.completed_ns < invoked_ns and self.end > offset


def reads_committed(operation: Operation) -> bool:
    """Returns True if the operation reads at `read_committed`, which is the default level."""
    return operation.isolation != "read_uncommitted"


def reached(history: History) -> Iterator[Reached]:
    """Yields a proof of how far a log reached, for each successful send, poll and end-offset
    request.
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
    """Returns the topic partitions to which a transaction sends, whatever its outcome."""
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
    """Returns True if one of `facts`, completed before `invoked_ns`, is about the log `key`.

    With `stable`, only facts about the last stable offset count.
    """
    return any(
        fact.key == key and fact.completed_ns < invoked_ns and (fact.stable or not stable)
        for fact in facts
    )


def furthest(facts: Collection[Reached]) -> Reached:
    """Returns the fact with the highest log end; of several, the one that completed first."""
    return min(facts, key=lambda fact: (-fact.end, fact.completed_ns, fact.op, fact.position))
