"""Scenes: small example histories, one for each anomaly. Some scenes have further anomalies.

Benchmarks insert scenes into large histories. `urteil analyze --explain` runs a query plan on all
scenes, in order to list the passes and stages of the plan.

The scenes in `TIGHT` have a cycle with real-time order. Such a scene must be short: any other
operation between two operations of the cycle would become part of the cycle.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from model.histories import History, MicroOperation, Poll, Send
from model.history_notation import history

SCENES: Final = {
    "offset-order-inversion": """
        p1 send k=a -> ok @5
        p2 send k=b -> ok @3
        c1 poll     -> ok k=b@3 k=a@5
    """,
    "stale-end-offset": """
        p1 send k=a     -> ok @5
        c1 end_offset k -> ok @5
        c1 poll         -> ok k=a@5
    """,
    "future-read": """
        c1 poll     -> ok k=a@0
        c1 poll     -> ok
        p1 send k=a -> ok @0
    """,
    "inconsistent-offsets": """
        p1 send k=a ...
        p2 send k=b -> ok @0
        p1 ...      -> ok @0
        c1 poll     -> ok k=a@0
        c2 poll     -> ok k=b@0
    """,
    "duplicate": """
        p1 send k=a -> ok @0
        c1 poll     -> ok k=a@0 k=a@1
    """,
    "duplicate-across-keys": """
        p1 send k=a -> ok @0
        c1 poll     -> ok k=a@0
        c1 poll     -> ok j=a@0
    """,
    "value-nobody-sent": """
        p1 send k=a -> ok @0
        c1 poll     -> ok k=a@0 k=b@1
    """,
    "lost-write": """
        p1 send k=a -> ok @0
        p1 send k=b -> ok @1
        c1 poll     -> ok k=b@1
    """,
    "unseen": """
        p1 send k=a -> ok @0
        c1 poll     -> ok k=a@0
        p1 send k=b -> ok @1
    """,
    "G1a": """
        p1 txn k=a  -> fail
        c1 poll     -> ok k=a@0
    """,
    "precommitted-read": """
        p1 txn k=a  -> ok @0 k=a@0
    """,
    "int-poll-skip": """
        p1 send k=a -> ok @0
        p1 send k=b -> ok @1
        p1 send k=c -> ok @2
        c1 poll     -> ok k=a@0 k=c@2
        c2 poll     -> ok k=b@1
    """,
    "int-send-skip": """
        p1 txn k=a k=b ...
        p2 send k=c    -> ok @1
        p1 ...         -> ok @0 @2
        c1 poll        -> ok k=a@0 k=c@1 k=b@2
    """,
    "poll-skip": """
        p1 send k=a -> ok @0
        p1 send k=b -> ok @1
        p1 send k=c -> ok @2
        c1 poll     -> ok k=a@0
        c1 poll     -> ok k=c@2
        c2 poll     -> ok k=b@1
    """,
    "int-nonmonotonic-poll": """
        p1 send k=a -> ok @0
        p1 send k=b -> ok @1
        c1 poll     -> ok k=a@0 k=b@1 k=a@0
    """,
    "int-nonmonotonic-send": """
        p1 txn k=a k=b -> ok @1 @0
        c1 poll        -> ok k=b@0 k=a@1
    """,
    "nonmonotonic-poll": """
        p1 send k=a -> ok @0
        p1 send k=b -> ok @1
        c1 poll     -> ok k=a@0 k=b@1
        c1 poll     -> ok k=a@0
    """,
    "nonmonotonic-send": """
        p1 send k=a -> ok @1
        p1 send k=b -> ok @0
        c1 poll     -> ok k=b@0 k=a@1
    """,
    "G1c": """
        p1 txn k=a  ...
        p2 txn j=b  ...
        p1 ...      -> ok @0 j=b@0
        p2 ...      -> ok @0 k=a@0
    """,
    "G1b": """
        p1 txn k=a k=b -> ok @0 @1
        p2 send k=c    -> ok @2
        c1 poll        -> ok k=a@0 k=c@2
        c2 poll        -> ok k=b@1
    """,
    "torn-transaction": """
        p1 txn{id=x} k=a j=b -> ok @0 @0
        p2 send j=c          -> ok @1
        c1 poll              -> ok k=a@0 j=c@1
    """,
    "G1c-process": """
        c1 poll     -> ok k=a@0
        c1 send k=a -> ok @0
    """,
    "G1c-realtime": """
        c1 poll     -> ok k=a@0
        p1 send k=a -> ok @0
    """,
    "open-transaction-read": """
        p1 txn{id=x,end=30} k=a ...
        c1 poll                 -> ok k=a@0
        p1 ...                  -> ok @0
    """,
    "zombie-write": """
        p1 init_producer{id=x} -> ok
        p2 init_producer{id=x} -> ok
        p1 txn{id=x} k=a       -> ok @0
        c1 poll                -> ok k=a@0
    """,
    "group-offset-went-backwards": """
        c1 commit_offset{group=g} +k@1 -> ok
        c1 commit_offset{group=g} +k@5 -> ok
        c2 fetch_offset{group=g} k     -> ok @1
    """,
    "group-offset-moved-without-commit": """
        c1 fetch_offset{group=g} k     -> ok @none
        c1 commit_offset{group=g} +k@3 -> ok
        c2 fetch_offset{group=g} k     -> ok @4
    """,
    "aborted-offset-read": """
        c1 fetch_offset{group=g} k    -> ok @none
        p1 txn{id=x,group=g} o=a +k@4 -> fail
        c1 fetch_offset{group=g} k    -> ok @4
    """,
    "input-processed-twice": """
        p1 send i=m                   -> ok @0
        p2 txn{id=x,group=g} o=a +i@1 -> ok @0 i=m@0
        p3 txn{id=y,group=g} o=b +i@1 -> ok @2 i=m@0
        c1 poll                       -> ok o=a@0 o=b@2
    """,
    "input-skipped": """
        p1 send i=m                   -> ok @0
        p1 send i=n                   -> ok @1
        p2 txn{id=x,group=g} o=a +i@1 -> fail @0 i=m@0
        p2 txn{id=x,group=g} o=b +i@2 -> ok @2 i=n@1
        c1 poll                       -> ok o=b@2
        c2 poll                       -> ok i=m@0 i=n@1
    """,
    "output-without-offset": """
        p1 send i=m                   -> ok @0
        c1 fetch_offset{group=g} i    -> ok @none
        p2 txn{id=x,group=g} o=a +i@1 -> info i=m@0
        c2 poll                       -> ok o=a@0
        c1 fetch_offset{group=g} i    -> ok @none
        c3 poll                       -> ok i=m@0
    """,
    "offset-without-output": """
        p1 send i=m                   -> ok @0
        c1 fetch_offset{group=g} i    -> ok @none
        p2 txn{id=x,group=g} o=a +i@1 -> info i=m@0
        c1 fetch_offset{group=g} i    -> ok @1
        p1 send o=z                   -> ok @3
        c2 poll                       -> ok o=z@3 i=m@0
    """,
}
TIGHT: Final = frozenset({"future-read", "G1c-process", "G1c-realtime"})
PROCESSES: Final = 100  # numbers that are reserved for each scene


def scene(anomaly: str, number: int, first_process: int = 0) -> History:
    """Returns a small example history that has the anomaly.

    `number` becomes part of every topic partition, value, process, group and transactional id. So
    two examples with different numbers have no name in common. `first_process` is added to the
    process numbers.
    """

    def renamed(micro: MicroOperation) -> MicroOperation:
        key = f"scene{number}{micro.key}-0"
        if isinstance(micro, Send | Poll):
            return replace(micro, key=key, value=f"scene{number}.{micro.value}")
        return replace(micro, key=key)

    def unique(word: str | None) -> str | None:
        return word and f"scene{number}.{word}"

    return tuple(
        replace(
            operation,
            process=first_process + PROCESSES * number + operation.process,
            did=tuple(map(renamed, operation.did)),
            transactional_id=unique(operation.transactional_id),
            group=unique(operation.group),
        )
        for operation in history(SCENES[anomaly])
    )
