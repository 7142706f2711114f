"""The table of all sweeps. A sweep is a series of simulated runs with the same workload, network
and kinds of faults.

A sweep has one run for each seed. Kafka keeps its guarantees under all faults of these runs.

Simplified: a host loses its power or its disk only if the replicas of the previously affected host
are in the ISR again. Otherwise, all replicas of a record could lose the record before a flush.
Kafka does not prevent such a loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Final

from model.faults import UnknownName
from model.vocabulary import BrokerId
from reference_impl.protocol.transactions import TransactionVersion
from reference_impl.simulation import workloads
from reference_impl.simulation.network import CALM, Conditions
from reference_impl.simulation.producer_config import ProducerConfig
from reference_impl.simulation.runs import (
    BATCHING,
    IDEMPOTENT,
    LATE_ENDS,
    LATE_RECORDS,
    MACHINES,
    STOPS,
    Kind,
    Scenario,
    draw_faults,
)

BROKERS: Final = tuple(map(BrokerId, (1, 2, 3)))
ROUGH: Final = Conditions(jitter_ms=15, loss=3, doubling=5, overtaking=5)
# librdkafka relies on the order of a connection: see `client_libraries`.
CONNECTED: Final = replace(ROUGH, connects_clients=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A sweep: a series of simulated runs with the same workload, network and kinds of faults.
    `scenario` returns the description of the run with a given seed.
    """

    name: str
    says: str
    scenario: Callable[[int], Scenario]
    subscribes: bool = False  # consumers are in a group: positions jump at a rebalance


FAULTS: Final = 4


def _publishing(
    kinds: tuple[Kind, ...],
    every_ms: int,
    conditions: Conditions = CALM,
    *,
    producers: Sequence[ProducerConfig] = (IDEMPOTENT,),
    sends: int = 40,
) -> Callable[[int], Scenario]:
    """Returns a function from seeds to scenarios with two producers. The seed selects the
    configuration of each producer among `producers`.
    """

    def scenario(seed: int) -> Scenario:
        coins = Random(f"producers {seed}")
        return Scenario(
            seed=seed,
            producers=(coins.choice(producers), coins.choice(producers)),
            sends=sends,
            send_every_ms=every_ms * FAULTS // sends,
            conditions=conditions,
            faults=draw_faults(seed, BROKERS, count=FAULTS, every_ms=every_ms, kinds=kinds),
        )

    return scenario


def _transactions(
    seed: int,
    kinds: tuple[Kind, ...] = STOPS,
    version: TransactionVersion = TransactionVersion.V2,
    send_attempts: int | None = None,
) -> Scenario:
    until_ms = 3_000
    transfers = partial(
        workloads.transfers,
        seed=seed,
        until_ms=until_ms,
        version=version,
        send_attempts=send_attempts,
    )
    return Scenario(
        seed=seed,
        producers=(),
        consumers=0,
        topics=(workloads.ACCOUNTS,),
        programs=(
            transfers("a"),
            transfers("b"),
            workloads.reads(workloads.ACCOUNTS, until_ms + 500),
        ),
        faults=draw_faults(seed, BROKERS, count=4, every_ms=600, kinds=kinds),
    )


def _pipeline(seed: int) -> Scenario:
    until_ms = 3_000
    return Scenario(
        seed=seed,
        producers=(IDEMPOTENT,),
        sends=40,
        send_every_ms=60,
        topics=(workloads.INVOICES,),
        programs=(
            workloads.bills("one", until_ms),
            workloads.bills("other", until_ms),
            workloads.reads(workloads.INVOICES, until_ms + 500),
        ),
        faults=draw_faults(seed, BROKERS, count=4, every_ms=600, kinds=STOPS),
    )


SWEEPS: Final[Mapping[str, Sweep]] = {
    sweep.name: sweep
    for sweep in (
        Sweep(
            name="publish",
            says="two producers; brokers stop, links split, requests are lost, late or fatal",
            scenario=_publishing(STOPS, 600),
        ),
        Sweep(
            name="rough",
            says="as publish, on a network that delays, loses, duplicates and reorders messages",
            scenario=_publishing(STOPS, 600, ROUGH),
        ),
        Sweep(
            name="batches",
            says="as rough, with batches and time-outs; clients retry as Java's or librdkafka",
            scenario=_publishing(STOPS, 900, CONNECTED, producers=BATCHING, sends=240),
        ),
        Sweep(
            name="machines",
            says="two producers; machines lose power, logs are torn, disks are replaced",
            scenario=_publishing(MACHINES, 3_000),
        ),
        Sweep(
            name="transactions",
            says="two transactional ids; replaced producers write again; the faults of publish",
            scenario=_transactions,
        ),
        Sweep(
            name="late-ends",
            says="as transactions; requests to end a transaction, and markers, arrive late",
            scenario=partial(_transactions, kinds=LATE_ENDS),
        ),
        Sweep(
            name="version-1",
            says="as late-ends, with transaction version 1; after late records, clients abort and"
            " go on",
            scenario=partial(
                _transactions,
                kinds=LATE_RECORDS,
                version=TransactionVersion.V1,
                send_attempts=1,
            ),
        ),
        Sweep(
            name="pipeline",
            says="a group of two consumes and produces exactly once, under the faults of publish",
            scenario=_pipeline,
            subscribes=True,
        ),
    )
}


def sweep_named(name: str) -> Sweep:
    """Returns the sweep called `name`. If there is none, raises UnknownName, whose message lists
    the nearest names.
    """
    if name not in SWEEPS:
        raise UnknownName("sweep", name, SWEEPS)
    return SWEEPS[name]
