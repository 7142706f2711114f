"""The workloads of `tools.convictions`. They are shorter than the workloads of `urteil sweep`.

The workloads `late-ends`, `late-markers` and `late-records` delay certain requests. They show
anomalies of bugs that accept a late request, which random faults show too rarely.

Source: `reference_impl.simulation.sweeps`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Final

from reference_impl.node.bugs import Bug
from reference_impl.protocol.transactions import TransactionVersion
from reference_impl.simulation import workloads
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.faults import At, Hold, On, Plan
from reference_impl.simulation.programs import Application, Pause, Program, ProgramFactory
from reference_impl.simulation.runs import IDEMPOTENT, STOPS, Scenario, draw_faults
from reference_impl.simulation.sweeps import BROKERS
from reference_impl.simulation.transactional_producer import TransactionalProducer

UNTIL_MS: Final = 1_200  # the producers and the group end here
READ_UNTIL_MS: Final = 1_500
FAULT_EVERY_MS: Final = 400
FAULTS: Final = 2
SENDS: Final = 30
CALL_MS: Final = 100  # the request timeout of a producer whose requests are late
PAUSE_MS: Final = 100  # the longest pause in a transaction, so that late requests arrive in it
V1: Final = TransactionVersion.V1
V2: Final = TransactionVersion.V2


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A workload: `scenario` returns a simulated run for each seed and transaction version. The run
    has two random faults of brokers and links, or the late requests of the workload.

    If `shows` is empty, every fault and every bug is planted in the workload. Otherwise, only the
    bugs in `shows` are planted, and a run without a bug is the control.
    """

    name: str
    scenario: Callable[[int, TransactionVersion], Scenario]
    subscribes: bool = False  # consumers are in a group: positions jump at a rebalance
    version: TransactionVersion = V2
    shows: tuple[Bug, ...] = ()


def _faults(seed: int) -> Plan:
    return draw_faults(seed, BROKERS, count=FAULTS, every_ms=FAULT_EVERY_MS, kinds=STOPS)


def _publish(seed: int, _version: TransactionVersion) -> Scenario:
    return Scenario(
        seed=seed,
        producers=(IDEMPOTENT, IDEMPOTENT),
        sends=SENDS,
        send_every_ms=UNTIL_MS // SENDS,
        faults=_faults(seed),
    )


def _transactions(seed: int, version: TransactionVersion) -> Scenario:
    return _of_accounts(
        seed,
        _faults(seed),
        workloads.transfers("a", seed, UNTIL_MS, version=version),
        workloads.transfers("b", seed, UNTIL_MS, version=version),
    )


def _pipeline(seed: int, version: TransactionVersion) -> Scenario:
    return Scenario(
        seed=seed,
        producers=(IDEMPOTENT,),
        sends=SENDS,
        send_every_ms=UNTIL_MS // SENDS,
        topics=(workloads.INVOICES,),
        programs=(
            workloads.bills("one", UNTIL_MS, version=version),
            workloads.bills("other", UNTIL_MS, version=version),
            workloads.reads(workloads.INVOICES, READ_UNTIL_MS),
        ),
        faults=_faults(seed),
    )


def _late(
    seed: int, version: TransactionVersion, *, api: str, every_ms: int, holds_ms: tuple[int, int]
) -> Scenario:
    """Delays one request of the API every `every_ms`, so that it arrives in a later transaction."""
    return _of_accounts(
        seed, _late_requests(seed, api, every_ms, holds_ms), _payments("a", seed, version)
    )


def _late_records(seed: int, version: TransactionVersion) -> Scenario:
    """Delays records. The producer aborts the transaction of a late record, and continues."""
    late = _late_requests(seed, "Produce", every_ms=150, holds_ms=(302, 330), occurrences=3)
    transfers = workloads.transfers("a", seed, UNTIL_MS, version=version, send_attempts=1)
    return _of_accounts(seed, late, transfers)


def _late_requests(
    seed: int, api: str, every_ms: int, holds_ms: tuple[int, int], occurrences: int = 1
) -> Plan:
    coins = Random(f"late {api} {seed}")
    return tuple(
        At(
            at_ms,
            On(
                api=api,
                moment="before",
                occurrence=1 + coins.randrange(occurrences),
                does=Hold(coins.randrange(*holds_ms)),
            ),
        )
        for at_ms in range(50, UNTIL_MS, every_ms)
    )


def _of_accounts(seed: int, faults: Plan, *programs: ProgramFactory) -> Scenario:
    return Scenario(
        seed=seed,
        producers=(),
        consumers=0,
        topics=(workloads.ACCOUNTS,),
        programs=(*programs, workloads.reads(workloads.ACCOUNTS, READ_UNTIL_MS)),
        faults=faults,
    )


def _payments(name: str, seed: int, version: TransactionVersion) -> ProgramFactory:
    """Returns a program that runs transactions with a pause in each. A transaction has a record for
    one account or for both, and half of the transactions are aborted.
    """
    coins = Random(f"payments {name} {seed}")

    def program(app: Application) -> Program:
        brokers = BrokerClient(app=app)
        places = yield from brokers.topic_partitions(workloads.ACCOUNTS.topic)
        number = 0
        while app.now_ms < UNTIL_MS:
            producer = TransactionalProducer(
                app=app,
                brokers=brokers,
                transactional_id=name,
                version=version,
                timeout_ms=workloads.TRANSACTION_MS,
                call_ms=CALL_MS,
            )
            yield from producer.init_transactions()
            while producer.over is None and app.now_ms < UNTIL_MS:
                producer.begin()
                number += 1
                for place in coins.sample(places, 1 + coins.randrange(len(places))):
                    yield from producer.send(place, f"{name}{number} to {place.index}")
                yield Pause(coins.randrange(PAUSE_MS))
                yield from producer.abort() if coins.randrange(2) == 0 else producer.commit()
                yield Pause(workloads.PAUSE_MS)

    return program


WORKLOADS: Final[Mapping[str, Workload]] = {
    one.name: one
    for one in (
        Workload(name="publish", scenario=_publish),
        Workload(name="transactions", scenario=_transactions),
        Workload(name="pipeline", scenario=_pipeline, subscribes=True),
        Workload(
            name="late-ends",
            scenario=partial(_late, api="EndTxn", every_ms=150, holds_ms=(100, 300)),
            shows=(Bug.DELAYED_END_ACCEPTED, Bug.MARKER_ON_ONE_PARTITION),
        ),
        Workload(
            name="late-markers",
            scenario=partial(_late, api="WriteTxnMarker", every_ms=300, holds_ms=(350, 450)),
            shows=(Bug.LATE_MARKER_ACCEPTED,),
        ),
        Workload(
            name="late-records",
            scenario=_late_records,
            version=V1,
            shows=(Bug.LATE_PRODUCE_ACCEPTED,),
        ),
    )
}
