"""Generates histories of a small simulated cluster, and changes a few operations in them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from hypothesis import assume

from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.partitions import TableRows, partitions_of
from checkers.histories.plan.in_process import LocalDataset
from model.histories import (
    CommitOffset,
    EndOffset,
    FetchOffset,
    History,
    MicroOperation,
    Operation,
    Outcome,
    Poll,
    Send,
    StartOffset,
)
from properties.anomalies.assumptions import ASSUMPTIONS
from tests.properties.anomalies.small_cluster import BUGS, INPUTS, OUTPUTS
from tests.properties.anomalies.small_cluster_clients import cluster_history

KEYS = (*INPUTS, *OUTPUTS)
OUTCOMES: tuple[Outcome, ...] = ("ok", "info", "fail")
OF_MICRO = (
    "a micro-operation is gone",
    "a micro-operation is repeated",
    "an offset is another",
    "an offset is unknown",
    "a value is another",
    "a log start is returned",
)
OF_OPERATION = (
    "an operation is gone",
    "it ended otherwise",
    "it never ended",
    "another isolation level",
    "another group",
    "its end was asked for at another time",
)


def changed(seed: int, steps: Sequence[int] = (200, 600, 900)) -> History:
    """Returns the history of a small cluster after a few random changes.

    The history may break assumptions of the analysis.
    """
    rng = random.Random(seed)
    bug = rng.choice([None, *BUGS])
    h = [*cluster_history(seed, steps=rng.choice(steps), bug=bug)]
    for _ in range(rng.choice([0, 1, 5, 25])):
        transactions = [n for n, it in enumerate(h) if it.f == "txn"]
        if h:
            at = rng.choice([rng.randrange(len(h)), *transactions[:1], *transactions[-3:]])
            _change(h, at, rng.choice((*OF_MICRO, *OF_OPERATION)), rng)
    ended = sorted((it for it in h if it.completed_ns is not None), key=_completed)
    return (*ended, *(it for it in h if it.completed_ns is None))


def mutated(seed: int) -> History:
    """Returns a changed history that keeps all assumptions of the analysis."""
    made = changed(seed)
    assume(not any(one.find(made) for one in ASSUMPTIONS))
    return made


def _completed(operation: Operation) -> int:
    return operation.completed_ns or 0


def _change(h: list[Operation], at: int, how: str, rng: random.Random) -> None:
    if how == "an operation is gone":
        del h[at]
    elif how in OF_MICRO and h[at].did:
        did = list(h[at].did)
        which = rng.randrange(len(did))
        did[which : which + 1] = _instead(did[which], how, rng)
        h[at] = replace(h[at], did=tuple(did))
    else:
        h[at] = _otherwise(h[at], how, rng)


def _instead(micro: MicroOperation, how: str, rng: random.Random) -> list[MicroOperation]:
    match how:
        case "a micro-operation is gone":
            return []
        case "a micro-operation is repeated":
            return [micro, _other(micro, rng.choice([0, 1, 2]))]
        case "an offset is another":
            return [_other(micro, rng.choice([-3, -1, 1, 2, 5]))]
        case "an offset is unknown" if isinstance(micro, Send | Poll):
            return [replace(micro, offset=None)]
        case "a value is another" if isinstance(micro, Send | Poll):
            return [replace(micro, value=f"v{rng.randrange(1, 30)}")]
        case "a log start is returned":
            return [micro, StartOffset(rng.choice(KEYS), rng.randrange(4))]
        case _:
            return [micro]


def _otherwise(it: Operation, how: str, rng: random.Random) -> Operation:
    match how:
        case "it ended otherwise" if it.completed_ns is not None:
            error = rng.choice(["PRODUCER_FENCED", "aborted"])
            return replace(it, outcome=rng.choice(OUTCOMES), error=error)
        case "it never ended":
            return replace(it, outcome="info", completed_ns=None)
        case "another isolation level":
            return replace(it, isolation=rng.choice([None, "read_uncommitted"]))
        case "another group":
            needed = any(isinstance(micro, CommitOffset | FetchOffset) for micro in it.did)
            return replace(it, group=rng.choice(["g", "h"] if needed else [None, "g", "h"]))
        case "its end was asked for at another time":
            asked = [None, it.invoked_ns - 20, it.invoked_ns + 40, 9_999]
            return replace(it, end_asked_ns=rng.choice(asked))
        case _:
            return it


def _other(micro: MicroOperation, by: int) -> MicroOperation:
    match micro:
        case Send() | Poll() | FetchOffset() if micro.offset is not None:
            return replace(micro, offset=max(0, micro.offset + by))
        case EndOffset() | StartOffset() | CommitOffset():
            return replace(micro, offset=max(0, micro.offset + by))
        case _:
            return micro


def partitioned(h: History, rng: random.Random, *, files: int = 12) -> LocalDataset:
    """Divides a history into random partitions, which are read from files in any order."""
    table = as_table(h)
    rows = table.num_rows
    width = rows // rng.choice([1, 5, 25])
    begin = rng.randrange(rows - width + 1)
    at = sorted(begin + rng.randrange(width + 1) for _ in range(rng.randrange(files)))
    row_ranges = [TableRows(table.slice(a, b - a)) for a, b in pairwise([0, *at, rows])]
    rng.shuffle(row_ranges)
    return LocalDataset(
        partitions_of(row_ranges, rng.choice([1, 1, 40])), hash_seed=rng.randrange(3)
    )
