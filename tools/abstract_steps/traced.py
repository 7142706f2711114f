"""Counts how often each action of an abstract spec occurs in simulated runs and in log files of
Kafka.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from checkers.tracing import idempotence, replication, transactions
from checkers.tracing.following import follow
from checkers.tracing.log_lines import log_lines
from checkers.tracing.reading import read
from properties.refinement.trace_validation import validate
from tests.properties.refinement.scenarios import SCENARIOS

DATA: Final = Path(__file__).parents[2] / "tests" / "data"
# Folders with log files of Apache Kafka. The README of a folder describes how they were recorded.
RECORDED: Final = (
    "kafka_trace",
    "kafka_trace_3_9",
    "kafka_trace_producers",
    "kafka_trace_losses/last-known-leader",
    "kafka_trace_losses/last-replica-standing",
    "kafka_trace_losses/power-loss",
    "kafka_trace_losses/unclean-election",
)
# In `replicated`, the controller refuses a proposal with seed 25.
SEEDS: Final[Mapping[str, Sequence[int]]] = {"replicated": (*range(6), 25)}
ANY_SEEDS: Final = range(4)

TRACED: Final = (replication.SPEC, idempotence.SPEC, transactions.SPEC)

Counts = dict[str, Counter[str]]  # abstract spec -> action -> how often


def simulated() -> Counts:
    """Returns how often the simulated scenarios take each action of the abstract specs.

    The actions of a run are counted up to the first step that a spec refuses.
    """
    counts: Counts = {}
    for kind, scenario in SCENARIOS.items():
        for seed in SEEDS.get(kind, ANY_SEEDS):
            events = scenario.make(seed)
            for name, mapping in scenario.mappings(events).items():
                taken = validate(mapping, events).actions
                counts.setdefault(name.split(" of ")[0], Counter()).update(taken)
    return counts


def real(folders: Iterable[str] = RECORDED) -> Counts:
    counts: Counts = {}
    for folder in folders:
        found = read(log_lines(sorted((DATA / folder).glob("*.gz"))))
        for spec, begin, traces in (
            (replication.SPEC, replication.PartitionReplication.of, found.partitions),
            (idempotence.SPEC, idempotence.PartitionIdempotence.of, found.with_producers),
            (transactions.SPEC, transactions.TransactionalId.of, found.transactional_ids),
        ):
            for events in traces.values():
                taken = follow(begin(events), events).actions
                counts.setdefault(spec, Counter()).update(taken)
    return counts
