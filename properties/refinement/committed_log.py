"""Checks that replication provides the log that the transactions spec uses.

The transactions spec uses a *committed log*: a log that has no replicas, and never loses a
committed record. Its leader appends records, and its high watermark advances. A new leader may lack
records of the previous leader above the high watermark. The functions of this module are:

    log_of_replication   maps a state of the replication spec to a committed log
    log_of_partition     maps a partition of the transactions spec to a committed log
    actions_between      finds the abstract actions from one committed log to the next

Both specs are explored with a few replicas and records. If a new leader has a record that the
previous leader lacked, the abstract actions are a change of leader and an append.

Source: Lamport, Specifying Systems, chapter 5.8; Abadi and Lamport, The Existence of Refinement
Mappings (history variables); KIP-101; KIP-320.
Simplified: the log of the transaction coordinator is not mapped, because the transactions spec
stores only the last record of this log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from model.language.interpreter import State, Value
from properties.refinement.behaviour import as_int

APPEND: Final = "append"
ADVANCE: Final = "advance_high_watermark"
CHANGE_LEADER: Final = "change_leader"
UNEXPLAINED: Final = "unexplained"

Record = tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedLog:
    """A partition's log as the abstract specs see it: its leader epoch, its high watermark and its
    records.
    """

    leader_epoch: int  # of the leader, or of the next leader
    records: tuple[Record, ...]
    high_watermark: int  # number of committed records


def log_of_replication(state: State, replicas: int) -> CommittedLog | None:
    """Returns the committed log that corresponds to a state of the replication spec.

    Returns None if the leader or a member of the ISR lacks a committed record. The committed log
    has all records of the newest epoch's leader. If this epoch has no leader, the committed log has
    only the records below the high watermark.
    """
    high_watermark = as_int(state["true_high_watermark", ()])
    isr = [r for r in range(replicas) if state["registration.isr", (r,)]]
    epochs = {r: as_int(state["replica.leader_epoch", (r,)]) for r in range(replicas)}
    latest = max(epochs.values())
    leads = [r for r, e in epochs.items() if e == latest and state["replica.leader", (r,)] == r]
    committed = {_records(state, r)[:high_watermark] for r in (*isr, *leads)}
    kept = committed.pop()
    if committed or len(kept) < high_watermark:
        return None
    records = _records(state, leads[0]) if leads else kept
    return CommittedLog(leader_epoch=latest, records=records, high_watermark=high_watermark)


def log_of_partition(state: State, partition: int) -> CommittedLog:
    end = as_int(state["log.end_offset", (partition,)])
    names = sorted({name for name, _ in state if name.startswith("log.record.")})
    return CommittedLog(
        leader_epoch=as_int(state["leader_epoch", (partition,)]),
        records=tuple(tuple(state[n, (partition, o)] for n in names) for o in range(end)),
        high_watermark=as_int(state["log.high_watermark", (partition,)]),
    )


def actions_between(
    before: CommittedLog | None, after: CommittedLog | None
) -> tuple[str, ...] | None:
    """Returns the names of the abstract actions that lead from `before` to `after`: changes of the
    leader, appends, and advances of the high watermark.

    Returns None if `before` or `after` is None, or if no actions lead to `after`. Returns () if the
    two logs are equal.
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
    """Returns, for each action of a committed log, the number of steps that contain this action.

    A step is a pair of a log before and a log after. A step that changes nothing counts as `none`.
    A step that no actions explain counts as UNEXPLAINED.
    """
    found: Counter[str] = Counter()
    for before, after in steps:
        actions = actions_between(before, after)
        found.update({UNEXPLAINED} if actions is None else set(actions or ("none",)))
    return found


def _records(state: State, replica: int) -> tuple[Record, ...]:
    end = as_int(state["log.end_offset", (replica,)])
    names = ("log.record.id", "log.record.leader_epoch")
    return tuple(tuple(state[n, (replica, o)] for n in names) for o in range(end))


def _shared(left: Sequence[Record], right: Sequence[Record]) -> int:
    return sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))
    )
