"""The cases to simulate. A case is a workload with one kind of planted fault, or without a fault.

In the workloads with late requests, there are only the controls and the bugs that they show.

The kinds of cases are:

    clean     no fault
    fault     one crash, cut link, lost disk or lost message
    network   a network that delays, loses, doubles or reorders messages
    control   the late requests of the workload, without a bug
    bug       a seeded bug of the broker, with two random faults of brokers and links, or with the
              late requests of the workload

In all kinds but the last, Kafka fulfils its guarantees. So their histories must show only the
anomalies in `effects`: those that a fault may cause without a defect. With a seeded bug, a history
may show the effects of the bug and their consequences. Most seeded bugs have an effect only if
faults occur.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from model.vocabulary import BrokerId
from properties.anomalies.catalogue import BY_ID
from properties.anomalies.consequences import closure
from properties.anomalies.declarations import Declarations
from reference_impl.node.bugs import Bug
from reference_impl.node.seeded_bugs import SEEDED_BUGS
from reference_impl.protocol.messages import CONTROLLER, NodeId
from reference_impl.protocol.transactions import TransactionVersion
from reference_impl.simulation.faults import (
    At,
    Crash,
    Die,
    DropResponses,
    Fault,
    Heal,
    Hold,
    Isolate,
    Lose,
    On,
    OneWaySplit,
    Plan,
    PowerLoss,
    ReplaceDisk,
    Restart,
    ShutDown,
)
from reference_impl.simulation.network import Conditions
from reference_impl.simulation.runs import FIRST_PRODUCER, Kind, Scenario
from tools.convictions.effects import EFFECTS, FAULT_EFFECTS
from tools.convictions.workloads import WORKLOADS, Workload

BEGINS_MS: Final = (100, 1_000)  # when a planted fault begins, at the earliest and the latest
LASTS_MS: Final = (50, 600)
# Releases with these bugs have no transaction version 2. In version 2, the verification of a batch
# also adds its partition: a leader that skips it never adds one, so that no transaction ends.
BEFORE_V2: Final = frozenset({Bug.LATE_PRODUCE_ACCEPTED})
APIS: Final = (
    "Produce",
    "Fetch",
    "UpdateMetadata",
    "EndTxn",
    "WriteTxnMarker",
    "AddPartitionsToTxn",
)

Planted = Callable[[Scenario], Scenario]


def _on(does: Callable[[Random], Lose | Hold | Die]) -> Kind:
    def kind(coins: Random, broker: BrokerId) -> tuple[Fault, Fault]:
        fault = On(
            target=NodeId(broker),
            api=coins.choice(APIS),
            occurrence=1 + coins.randrange(9),
            moment=coins.choice(("before", "after")),
            does=does(coins),
        )
        return fault, Restart(broker)

    return kind


_FAULTS: Final[Mapping[str, Kind]] = {
    "crash": lambda _, broker: (Crash(broker), Restart(broker)),
    "shut-down": lambda _, broker: (ShutDown(broker), Restart(broker)),
    "isolate": lambda _, broker: (Isolate(broker), Heal()),
    "deaf": lambda _, broker: (OneWaySplit(CONTROLLER, NodeId(broker)), Heal()),
    "mute": lambda _, broker: (OneWaySplit(NodeId(broker), CONTROLLER), Heal()),
    "drop-responses": lambda coins, _: (
        DropResponses(FIRST_PRODUCER, 1 + coins.randrange(5)),
        Heal(),
    ),
    "lose-message": _on(lambda _: Lose()),
    "hold-message": _on(lambda coins: Hold(1 + coins.randrange(400))),
    "die-at-message": _on(lambda _: Die()),
    "power-loss": lambda coins, broker: (
        PowerLoss(broker, coins.randrange(101), garbled=coins.random() < 0.5),
        Restart(broker),
    ),
    "replace-disk": lambda _, broker: (ReplaceDisk(broker), Restart(broker)),
}
_NETWORKS: Final[Mapping[str, Conditions]] = {
    "jitter": Conditions(jitter_ms=15),
    "loss": Conditions(loss=3),
    "doubling": Conditions(doubling=5),
    "overtaking": Conditions(overtaking=5),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A workload with one planted fault, one seeded bug, or neither.

    `explained` has the anomalies that the fault may cause in the history, directly or through
    another anomaly.
    """

    workload: str
    kind: str  # clean, fault, network, control or bug
    planted: str  # the name of the fault, or empty
    explained: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return "/".join(filter(None, (self.workload, self.kind, self.planted)))

    @property
    def of(self) -> Workload:
        return WORKLOADS[self.workload]

    @property
    def declared(self) -> Declarations:
        return Declarations(sub_via=frozenset({"subscribe" if self.of.subscribes else "assign"}))

    def scenario(self, seed: int) -> Scenario:
        is_old = self.kind == "bug" and Bug(self.planted) in BEFORE_V2
        scenario = self.of.scenario(seed, TransactionVersion.V1 if is_old else self.of.version)
        match self.kind:
            case "clean":
                return replace(scenario, faults=())
            case "fault":
                return replace(scenario, faults=_plan(self.planted, seed, scenario))
            case "network":
                return replace(scenario, faults=(), conditions=_NETWORKS[self.planted])
            case "control":
                return scenario
            case _:
                return replace(scenario, bugs=frozenset({Bug(self.planted)}))

    @property
    def promised(self) -> frozenset[str]:
        """The anomalies that the seeded bug can cause by its row in `SEEDED_BUGS`."""
        return _promised(Bug(self.planted)) if self.kind == "bug" else frozenset()


def _plan(name: str, seed: int, scenario: Scenario) -> Plan:
    coins = Random(f"planted {name} {seed}")
    broker = BrokerId(1 + coins.randrange(scenario.brokers))
    begins, ends = _FAULTS[name](coins, broker)
    at_ms = coins.randrange(*BEGINS_MS)
    return At(at_ms, begins), At(at_ms + coins.randrange(*LASTS_MS), ends)


def _promised(bug: Bug) -> frozenset[str]:
    (seeded,) = (row for row in SEEDED_BUGS if row.bug is bug)
    return frozenset(name for name in seeded.breaks if name in BY_ID)


def _explained(bug: Bug) -> frozenset[str]:
    return closure(_promised(bug) | set(EFFECTS.get(bug, {})))


def cases() -> tuple[Case, ...]:
    """Returns the cases of each workload: one without a fault or a bug, and one for each planted
    fault and bug.
    """
    explained = {row.bug: _explained(row.bug) for row in SEEDED_BUGS}
    of_faults = {name: closure(FAULT_EFFECTS.get(name, {})) for name in _FAULTS}
    late = tuple(
        case
        for name, workload in WORKLOADS.items()
        if workload.shows
        for case in (
            Case(workload=name, kind="control", planted=""),
            *(
                Case(workload=name, kind="bug", planted=bug.value, explained=explained[bug])
                for bug in workload.shows
            ),
        )
    )
    return late + tuple(
        case
        for workload, of in WORKLOADS.items()
        if not of.shows
        for case in (
            Case(workload=workload, kind="clean", planted=""),
            *(
                Case(workload=workload, kind="fault", planted=name, explained=names)
                for name, names in of_faults.items()
            ),
            *(Case(workload=workload, kind="network", planted=name) for name in _NETWORKS),
            *(
                Case(workload=workload, kind="bug", planted=bug.value, explained=names)
                for bug, names in explained.items()
            ),
        )
    )
