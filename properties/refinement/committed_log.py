"""Replication gives what transactions stand on: one log, of which what is committed is kept.

Transactions are modelled over an abstract *committed log*: a leader appends, a high watermark
advances, and a new leader may lack what is above it. `log_of_replication` says which such log a
state of the replication spec is, `log_of_partition` which one a partition of the transactions spec
is, and `explained` how one becomes another by the abstract actions, if it does. Every transition of
both specs, explored at a finite scope, must be explained: then replicas that lag, are cut and
follow leaders of the past do not show in what is claimed of transactions over one log.

A new leader has, beyond what it shares with the log before, records that some leader appended once
and that were out of sight since: a change of leader, then appends, as if they came again.

Source: Lamport, Specifying Systems, chapter 5.8; Abadi and Lamport, The Existence of Refinement
Mappings (history variables); KIP-101; KIP-320.
Simplified: of the coordinator's log the transactions spec keeps the last record: it is not mapped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from model.language.interpreter import State, Value

APPEND: Final = "append"
ADVANCE: Final = "advance_high_watermark"
CHANGE_LEADER: Final = "change_leader"
UNEXPLAINED: Final = "unexplained"

Record = tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedLog:
    """The log of a partition as one would see it who knew all, oldest record first."""

    leader_epoch: int  # of the leader, or of a leader to be
    records: tuple[Record, ...]
    high_watermark: int  # so many of them are committed


def log_of_replication(state: State, replicas: int) -> CommittedLog | None:
    """The log that a state of replication stands for (`model.replication.history`).

    It is the log of the leader in the latest leader epoch that a replica has heard of, or what is
    committed, until that leader has heard of it too. None where a member of the ISR or that leader
    lacks what is committed, or has something else: that is no log.
    """
    high_watermark = _int(state["true_high_watermark", ()])
    isr = [r for r in range(replicas) if state["registration.isr", (r,)]]
    epochs = {r: _int(state["replica.leader_epoch", (r,)]) for r in range(replicas)}
    latest = max(epochs.values())
    leads = [r for r, e in epochs.items() if e == latest and state["replica.leader", (r,)] == r]
    committed = {_records(state, r)[:high_watermark] for r in (*isr, *leads)}
    kept = committed.pop()
    if committed or len(kept) < high_watermark:
        return None
    records = _records(state, leads[0]) if leads else kept
    return CommittedLog(leader_epoch=latest, records=records, high_watermark=high_watermark)


def log_of_partition(state: State, partition: int) -> CommittedLog:
    """The log that a partition of the transactions spec is."""
    end = _int(state["log.end_offset", (partition,)])
    names = sorted({name for name, _ in state if name.startswith("log.record.")})
    return CommittedLog(
        leader_epoch=_int(state["leader_epoch", (partition,)]),
        records=tuple(tuple(state[n, (partition, o)] for n in names) for o in range(end)),
        high_watermark=_int(state["log.high_watermark", (partition,)]),
    )


def actions_between(
    before: CommittedLog | None, after: CommittedLog | None
) -> tuple[str, ...] | None:
    """The abstract actions that lead from one log to the other; None if none do.

    The law: what is committed stays, and only a change of leader removes what is not.
    """
    if before is None or after is None or after.high_watermark < before.high_watermark:
        return None
    shared = _shared(before.records, after.records)
    if shared < before.high_watermark or after.leader_epoch < before.leader_epoch:
        return None
    changed = after.leader_epoch > before.leader_epoch
    if shared < len(before.records) and not changed:
        return None
    return (
        *[CHANGE_LEADER] * changed,
        *[APPEND] * (len(after.records) - shared),
        *[ADVANCE] * (after.high_watermark - before.high_watermark),
    )


def coverage(
    steps: Iterable[tuple[CommittedLog | None, CommittedLog | None]],
) -> Counter[str]:
    """How many steps take each abstract action, are stuttering (none), or are unexplained."""
    found: Counter[str] = Counter()
    for before, after in steps:
        actions = actions_between(before, after)
        found.update({UNEXPLAINED} if actions is None else set(actions or ("none",)))
    return found


def _records(state: State, replica: int) -> tuple[Record, ...]:
    end = _int(state["log.end_offset", (replica,)])
    names = ("log.record.id", "log.record.leader_epoch")
    return tuple(tuple(state[n, (replica, o)] for n in names) for o in range(end))


def _shared(left: Sequence[Record], right: Sequence[Record]) -> int:
    """How many records both begin with."""
    return sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))
    )


def _int(value: Value) -> int:
    assert value is not None
    return int(value)
