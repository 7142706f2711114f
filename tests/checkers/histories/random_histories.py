"""Generates random histories from seeds; their observations may contradict each other.

A history has all kinds of micro-operations, at few offsets of few keys, so there are many
contradictions. One history in eight may break an assumption of the analysis: a process has two open
operations, or a value is sent twice. Some offsets are at the boundaries of bitset words.

The parameter `settled` makes most observations agree on one log, so that repeated or skipped
deliveries stand out.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from model.histories import (
    Assigned,
    CommitOffset,
    EndOffset,
    FetchOffset,
    History,
    Isolation,
    MicroOperation,
    Operation,
    Outcome,
    Poll,
    Rebalanced,
    Send,
    StartOffset,
)

KEYS: Final = ("o-0", "o-1", "i-0")
OFFSETS: Final = (None, 0, 1, 2, 3, 4, 5, 63, 64, 65, 130, 1 << 16, (1 << 16) + 1, 1 << 40)
KINDS: Final = {
    "send": ["send"],
    "txn": ["send", "send", "send", "poll", "commit"],
    "poll": [*["poll"] * 19, "rebalanced"],
    "end_offset": ["end"],
    "start_offset": ["start"],
    "assign": ["assigned"],
    "subscribe": ["assigned"],
    "commit_offset": ["commit"],
    "fetch_offset": ["fetch"],
}
FS: Final = (*KINDS, "send", "txn", "txn", "poll", "poll", "init_producer")
PIPELINES: Final = ("txn", "txn", "txn", "fetch_offset", "init_producer", "poll")
CONSUMERS: Final = ("send", "send", "txn", "poll", "poll", "poll", "poll", "start_offset")
OUTCOMES: Final[tuple[Outcome, ...]] = ("ok", "ok", "ok", "ok", "info", "fail")
LEVELS: Final[tuple[Isolation | None, ...]] = (None, None, "read_committed", "read_uncommitted")
NEVER: Final = 1 << 60
SETTLED: Final = tuple(zip("abcdef", (0, 1, 2, 63, 64, 1 << 16), strict=True))


def random_history(seed: int, fs: Sequence[str] = FS, *, settled: float = 0) -> History:
    """Returns up to thirty operations of five processes, from a seed.

    `settled` is the fraction of observations that agree with one fixed log; the others are random.
    """
    rng = random.Random(seed)
    unsound = rng.random() < 0.125
    sent: set[tuple[str, str]] = set()
    free_at: dict[int, int] = {}
    made: list[Operation] = []
    for number in range(rng.randrange(30)):
        process = rng.randrange(5)
        begin = 4 * number + rng.randrange(-12, 13) + 20
        if not unsound:
            begin = max(begin, free_at.get(process, 0))
        outcome = rng.choice(OUTCOMES)
        never = outcome == "info" and rng.random() < 0.5
        if begin >= NEVER:
            continue
        end = None if never else begin + rng.randrange(16)
        free_at[process] = NEVER if end is None else end
        f = rng.choice(fs)
        micros = [_micro(kind, rng, settled) for kind in _kinds(f, rng)]
        did = micros if unsound else _sent_once(micros, outcome, sent)
        made.append(
            Operation(
                process=process,
                f=f,
                outcome=outcome,
                invoked_ns=begin,
                completed_ns=end,
                did=tuple(did),
                error=rng.choice([None, "PRODUCER_FENCED"]) if outcome != "ok" else None,
                transactional_id=rng.choice("xy") if f in {"txn", "init_producer"} else None,
                group=rng.choice([None, "g", "h"] if f == "poll" else ["g", "h"]),
                isolation=rng.choice(LEVELS),
                end_asked_ns=rng.choice([None, begin + 3]) if f == "txn" else None,
            )
        )
    return tuple(sorted(made, key=lambda o: NEVER if o.completed_ns is None else o.completed_ns))


def _kinds(f: str, rng: random.Random) -> list[str]:
    return rng.choices(KINDS[f], k=rng.choice([0, 1, 1, 2, 3])) if f in KINDS else []


def _sent_once(
    micros: Iterable[MicroOperation], outcome: Outcome, sent: set[tuple[str, str]]
) -> Iterator[MicroOperation]:
    for micro in micros:
        if isinstance(micro, Send):
            if (micro.key, micro.value) in sent:
                continue
            if outcome != "fail":
                sent.add((micro.key, micro.value))
        yield micro


def _micro(kind: str, rng: random.Random, settled: float) -> MicroOperation:
    key, value, offset = rng.choice(KEYS), rng.choice("abcdefghijkl"), rng.choice(OFFSETS)
    if rng.random() < settled:
        value, offset = rng.choice(SETTLED)
    few = rng.randrange(6)
    made: dict[str, MicroOperation] = {
        "send": Send(key, value, offset),
        "poll": Poll(key, offset, value),
        "rebalanced": Rebalanced(key),
        "assigned": Assigned(key),
        "end": EndOffset(key, offset or 0),
        "start": StartOffset(key, few // 2),
        "commit": CommitOffset(key, few),
        "fetch": FetchOffset(key, few or None),
    }
    return made[kind]
