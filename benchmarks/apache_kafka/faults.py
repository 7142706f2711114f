"""What is done to the brokers: rounds of faults, drawn by a seed, and the log of what was done.

A round is a few steps on brokers that are all well when it begins; it ends when they are all well
again. The three kinds come in turn, the brokers and the times by lot:

    kill            one broker dies by SIGKILL and is started again: leaders move, logs recover
    pause           one broker sleeps longer than its session lasts: it wakes as a leader that was
                    replaced and does not know it, with requests in its sockets
    last standing   two sleep until the third is alone in every in-sync set; then it is killed, the
                    two wake, and it comes back last. An unclean election has its chance here: what
                    the third acknowledged alone, the two have not got

The same rounds are meant for every configuration: what differs is what the cluster makes of them.
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
ASLEEP_S: Final = (2.5, 6.0)  # beyond a session (1.5 s)
ALONE_S: Final = (3.5, 5.0)  # beyond a session and the replica lag time


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Something done to a broker, so many seconds after the step before."""

    after_s: float
    do: Do
    node: int


Round = tuple[Planned, ...]


def rounds(seed: int) -> Iterator[Round]:
    """Rounds without end, the same for the same seed."""
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
    """Rounds until the event is set; then every broker is well again. What was done, in order."""
    done: list[Step] = []
    for steps in rounds(seed):
        if until.is_set():
            return tuple(done)
        for step in steps:  # a round that has begun is finished: it ends with every broker well
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
