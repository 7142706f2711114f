"""The workloads of `tools.convictions`. They are shorter than the workloads of `urteil sweep`.

Source: `reference_impl.simulation.sweeps`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from reference_impl.simulation import workloads
from reference_impl.simulation.faults import Plan
from reference_impl.simulation.runs import IDEMPOTENT, STOPS, Scenario, draw_faults
from reference_impl.simulation.sweeps import BROKERS

UNTIL_MS: Final = 1_200  # the producers and the group end here
READ_UNTIL_MS: Final = 1_500
FAULT_EVERY_MS: Final = 400
FAULTS: Final = 2
SENDS: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A workload: `scenario` returns a simulated run for each seed, with two random faults of
    brokers and links.
    """

    name: str
    scenario: Callable[[int], Scenario]
    subscribes: bool = False  # consumers are in a group: positions jump at a rebalance


def _faults(seed: int) -> Plan:
    return draw_faults(seed, BROKERS, count=FAULTS, every_ms=FAULT_EVERY_MS, kinds=STOPS)


def _publish(seed: int) -> Scenario:
    return Scenario(
        seed=seed,
        producers=(IDEMPOTENT, IDEMPOTENT),
        sends=SENDS,
        send_every_ms=UNTIL_MS // SENDS,
        faults=_faults(seed),
    )


def _transactions(seed: int) -> Scenario:
    return Scenario(
        seed=seed,
        producers=(),
        consumers=0,
        topics=(workloads.ACCOUNTS,),
        programs=(
            workloads.transfers("a", seed, UNTIL_MS),
            workloads.transfers("b", seed, UNTIL_MS),
            workloads.reads(workloads.ACCOUNTS, READ_UNTIL_MS),
        ),
        faults=_faults(seed),
    )


def _pipeline(seed: int) -> Scenario:
    return Scenario(
        seed=seed,
        producers=(IDEMPOTENT,),
        sends=SENDS,
        send_every_ms=UNTIL_MS // SENDS,
        topics=(workloads.INVOICES,),
        programs=(
            workloads.bills("one", UNTIL_MS),
            workloads.bills("other", UNTIL_MS),
            workloads.reads(workloads.INVOICES, READ_UNTIL_MS),
        ),
        faults=_faults(seed),
    )


WORKLOADS: Final[Mapping[str, Workload]] = {
    one.name: one
    for one in (
        Workload(name="publish", scenario=_publish),
        Workload(name="transactions", scenario=_transactions),
        Workload(name="pipeline", scenario=_pipeline, subscribes=True),
    )
}
