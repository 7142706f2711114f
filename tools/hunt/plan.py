"""The plan of a run: version, settings, workload, faults and changes, drawn from a seed.

A run is repeated by its seed and its version. Every drawn plan has acks=all and only clean
elections. It has a power loss only with three replicas. So no acknowledged record may be lost. The
plans in `KNOWN` have weaker settings, and their runs must break a guarantee. They show that the
hunt detects such a violation.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from checkers.client_config import Acks
from checkers.record.options import Workload
from checkers.systems.apache_kafka.settings import SAFE, UNSAFE
from checkers.systems.system import Layout, Settings
from tools.hunt.changes import CHANGES

VERSIONS: Final = ("3.5.2", "3.9.1", "4.0.0", "4.1.0", "4.2.0", "4.3.0", "4.3.1")
FEATURES: Final[Mapping[str, Sequence[int]]] = {  # since 4.0; the last level is a new cluster's
    "eligible.leader.replicas.version": (0, 1, 1),
    "transaction.version": (1, 2, 2),
}
FAULTS: Final = ("power-loss", "kill", "stop", "pause", "last-standing")  # no blackout: it may lose
DRAWN: Final[Mapping[str, Sequence[str]]] = {  # settings of every node, with their possible values
    "replica.lag.time.max.ms": ("1500", "4000"),
    "log.segment.bytes": ("1048576", "1073741824"),
    "num.replica.fetchers": ("1", "2"),
    "compression.type": ("producer", "lz4", "zstd"),
    "log.message.timestamp.type": ("CreateTime", "LogAppendTime"),
    "replica.fetch.max.bytes": ("2048", "1048576"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan of one run. Its faults happen in the order of `faults`, and its workload ends within
    a minute.
    """

    seed: int
    version: str
    workload: Workload = "append-and-read"
    acks: Acks = "all"
    replicas: int = 3
    settings: Settings = field(default_factory=dict[str, str])
    features: Mapping[str, int] = field(default_factory=dict[str, int])
    faults: tuple[str, ...] = ()  # kinds of rounds, in this order
    changes: tuple[str, ...] = ()  # kinds of changes of the cluster
    known: str = ""  # the name of the plan in KNOWN; empty if it is drawn

    @property
    def sends(self) -> int:
        return 300 if self.workload == "append-and-read" else 150

    @property
    def pause_s(self) -> float:
        return 0.2 if self.workload == "append-and-read" else 0.4

    @property
    def layout(self) -> Layout:
        return Layout(settings=self.settings, features=self.features)


def drawn(seed: int, versions: Sequence[str] = VERSIONS) -> Plan:
    """Returns the plan of a seed.

    Another choice of `versions` changes only the version and the features of the plan. A plan has
    no features if its version is before Kafka 4.0.
    """
    version = random.Random(f"version {seed}").choice(list(versions))
    rng = random.Random(f"hunt {seed}")
    replicas = rng.choice((2, 3, 3))
    workloads: tuple[Workload, ...] = ("append-and-read", "transactions")
    features = {name: rng.choice(list(levels)) for name, levels in FEATURES.items()}
    return Plan(
        seed=seed,
        version=version,
        workload=rng.choice(workloads),
        replicas=replicas,
        settings={
            **SAFE,
            "min.insync.replicas": str(replicas - 1),
            **{name: rng.choice(list(values)) for name, values in DRAWN.items()},
        },
        features=features if int(version.partition(".")[0]) >= 4 else {},
        faults=_some(rng, FAULTS if replicas > 2 else FAULTS[1:]),
        changes=_some(rng, tuple(CHANGES)),
    )


def _some(rng: random.Random, kinds: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(rng.sample(kinds, rng.randint(1, len(kinds))))


_UNCLEAN: Final = Plan(
    seed=0, version="4.3.0", settings=UNSAFE, faults=("last-standing",), known="unclean-election"
)
KNOWN: Final[Mapping[str, Plan]] = {
    "unclean-election": _UNCLEAN,
    "acks-1": replace(_UNCLEAN, acks="1", known="acks-1"),
}
