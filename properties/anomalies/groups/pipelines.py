"""Pipelines: transactions that consume input, send output and commit the offset they reached.

A *step* of a pipeline is the part of a transaction that commits a group's offset for one input
topic partition. A transaction that consumed from two topic partitions has two steps. The input of a
step is the set of records that the transaction polled from the topic partition below the committed
offset. A step that ended `ok` consumed its input. A step that ended `fail` did not consume it. A
step that ended `info` (unknown outcome) may have consumed it.

Source: KIP-98, KIP-447: sendOffsetsToTransaction; docs/sources.md DOC2 (consume, process,
produce).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from model.histories import CommitOffset, History, Poll
from properties.anomalies.groups.offsets import Commit, Register, commits


@dataclass(frozen=True, slots=True)
class Step:
    """The part of a transaction that consumed one input topic partition and committed the group's
    offset for this topic partition.
    """

    register: Register
    op: int
    committed: int  # the highest offset of the key that it committed
    consumed: frozenset[int]  # polled offsets below `committed`


def steps(history: History) -> Iterator[Step]:
    """Yields the steps of all transactions that ended `ok`: one step for each topic partition whose
    offset the transaction committed.
    """
    for register, op in sorted(
        {(c.register, c.op) for c in commits(history) if c.in_transaction and c.outcome == "ok"}
    ):
        did = history[op].did
        key = register[1]
        committed = max(it.offset for it in did if isinstance(it, CommitOffset) and it.key == key)
        consumed = {
            it.offset
            for it in did
            if isinstance(it, Poll) and it.key == key and it.offset is not None
        }
        yield Step(register, op, committed, frozenset(o for o in consumed if o < committed))


def rewinds(history: History, register: Register, offset: int) -> list[Commit]:
    """Returns the commits that did not fail and that set the group's offset to `offset` or
    lower.
    """
    return [
        commit
        for commit in commits(history)
        if commit.register == register and commit.offset <= offset and commit.outcome != "fail"
    ]
