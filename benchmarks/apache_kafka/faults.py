"""Rounds of faults on the brokers, drawn from a seed, and the log of the faults.

When a round begins or ends, every broker is running. There are three kinds of rounds, which take
turns; the brokers and the times are random:

    kill            one broker dies by SIGKILL and is started again: leaders move, logs recover
    pause           one broker is paused for longer than its session. When it resumes, it still acts
                    as a leader, with requests in its sockets, although it was replaced
    last standing   two brokers are paused until the third is alone in every ISR; then the third is
                    killed, the two resume, and the third starts last. Here an unclean election can
                    happen: the two lack the records that the third acknowledged alone

Every configuration gets the same rounds, so only the cluster's behaviour differs.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from benchmarks.apache_kafka.cluster import BROKERS, Cluster
from checkers.histories.io.faults import Step

Do = Literal["kill", "start", "pause", "resume"]
CALM_S: Final = 2.0  # between two rounds
DOWN_S: Final = (1.0, 4.0)
ASLEEP_S: Final = (2.5, 6.0)  # longer than a session (1.5 s)
ALONE_S: Final = (3.5, 5.0)  # longer than a session and the replica lag time


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One fault on a broker, with a delay in seconds after the previous fault of the round."""

    after_s: float
    do: Do
    node: int


Round = tuple[Planned, ...]


def rounds(seed: int) -> Iterator[Round]:
    """Yields rounds without end, always the same for the same seed."""
    rng = random.Random(f"faults {seed}")
    while True:
        yield _one(rng, "kill", "start", DOWN_S)
        yield _one(rng, "pause", "resume", ASLEEP_S)
        yield _last_standing(rng)


def _one(rng: random.Random, do: Do, undo: Do, lasts_s: tuple[float, float]) -> Round:
    node = rng.choice(BROKERS)
    return (
        Planned(after_s=CALM_S, do=do, node=node),
        Planned(after_s=rng.uniform(*lasts_s), do=undo, node=node),
    )


def _last_standing(rng: random.Random) -> Round:
    last, *others = rng.sample(BROKERS, len(BROKERS))
    return (
        *(Planned(after_s=CALM_S / 2, do="pause", node=node) for node in others),
        Planned(after_s=rng.uniform(*ALONE_S), do="kill", node=last),
        *(Planned(after_s=0.1, do="resume", node=node) for node in others),
        Planned(after_s=rng.uniform(*ASLEEP_S), do="start", node=last),
    )


def inflict(cluster: Cluster, seed: int, until: threading.Event) -> tuple[Step, ...]:
    """Runs rounds until the event is set, finishes the round, and returns all faults in order."""
    done: list[Step] = []
    for steps in rounds(seed):
        if until.is_set():
            return tuple(done)
        for step in steps:  # a round is always finished: it ends with every broker running
            time.sleep(step.after_s)
            _do(cluster, step)
            done.append(Step(at_ns=time.monotonic_ns(), do=step.do, node=step.node))
        cluster.await_brokers(*BROKERS)
    return tuple(done)


def _do(cluster: Cluster, step: Planned) -> None:
    {
        "kill": cluster.kill,
        "start": cluster.start,
        "pause": cluster.pause,
        "resume": cluster.resume,
    }[step.do](step.node)
