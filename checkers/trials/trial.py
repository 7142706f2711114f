"""Runs trials: test runs of the state machines of the property suites, in real time on a running
cluster.

A trial creates its topics, calls rules of the state machine (such as a send or a kill of a broker),
ends all faults, and checks the observations of the clients. Time is real, so the same calls do not
always have the same result.

Several trials in one setting (a configuration of the cluster) can run at the same time. The failure
of a broker then affects all of these trials (see `broker_faults`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import Final

from checkers.systems.system import System
from checkers.trials.broker_faults import BrokerFaults, Inflicted
from checkers.trials.cluster import RealTimeCluster
from checkers.trials.connections import discovered
from checkers.trials.known import Program
from checkers.trials.pace import Pace
from checkers.trials.powers import powers_of
from model.histories import History
from properties.suites.machines.driven import DrivenCluster, Power
from properties.suites.machines.judged import JudgedMachine, Shown
from properties.suites.search.drawing import drawn
from properties.suites.search.programs import Call
from properties.suites.suite import Suite
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.node.settings import BrokerSettings
from reference_impl.simulation.cluster import QUICK
from reference_impl.simulation.world import NoProgress
from reference_impl.wire.clients.frames import NoCommonVersion

RULES: Final = 6  # of each drawn trial
OPENS_WITHIN_MS: Final = 10_000
# Faults that two trials at the same time could add up to a fault outside the setting.
ONE_AT_A_TIME: Final = frozenset({Power.WIPE, Power.LOSE_POWER, Power.DELAY})

_Calls = Callable[[JudgedMachine], Iterator[Call]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    setting: str
    calls: tuple[Call, ...]
    is_observed: bool
    shown: Mapping[str, str]  # the evidence, by broken claim and reached goal
    stuck: str | None  # why the system did not recover in time; observations may be missing
    history: History
    inflicted: tuple[Inflicted, ...]
    seconds: float
    beside: tuple[Program, ...] = ()  # the calls of the trials that ran at the same time


@dataclass(slots=True)
class Trials:
    system: System
    pace: int
    allowed: frozenset[Power] = frozenset(Power)  # fewer if other trials run beside these
    number: int = 0
    brokers: BrokerFaults = field(init=False)
    _salt: str = field(default_factory=lambda: f"{time.time_ns() // 1_000:x}")
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.brokers = BrokerFaults(self.system)

    @property
    def powers(self) -> frozenset[Power]:
        """The powers that the system supports and that are allowed. A power is a kind of fault, a
        setting, or a view of the state of replicas.
        """
        return powers_of(self.system) & self.allowed

    def draw(self, suite: Suite, setting: str, seed: str, rules: int = RULES) -> Ran:
        """Runs a trial (a test run) of at most `rules` random calls, which depend on `seed`."""
        coins = Random(seed)

        def calls(machine: JudgedMachine) -> Iterator[Call]:
            for _ in range(rules):
                call = drawn(machine, coins, self.powers)
                if call is None:
                    return
                yield call

        return self._run(suite, setting, calls)

    def replay(self, suite: Suite, setting: str, calls: Sequence[Call]) -> Ran:
        return self._run(suite, setting, lambda _: iter(calls))

    def together(
        self, suite: Suite, setting: str, plans: Sequence[Program | str], rules: int = RULES
    ) -> list[Ran]:
        """Runs several trials (test runs) of one setting at the same time. Returns their results in
        the order of `plans`.

        An element of `plans` is a list of calls, or a seed for `rules` random calls. The duration
        in each result is the total running time divided by the number of trials.
        """
        if not plans:
            return []
        began = time.monotonic()
        alone = len(plans) == 1
        shared = self if alone else self._with(self.allowed - ONE_AT_A_TIME)

        def run(plan: Program | str) -> Ran:
            if isinstance(plan, str):
                return shared.draw(suite, setting, plan, rules)
            return shared.replay(suite, setting, plan)

        self.brokers.opening = len(plans)
        with ThreadPoolExecutor(len(plans)) as pool:
            found = list(pool.map(run, plans))
        each = round((time.monotonic() - began) / len(plans), 1)
        return [
            replace(
                ran,
                seconds=each,
                beside=tuple(other.calls for other in found if other is not ran),
            )
            for ran in found
        ]

    def can_run(self, suite: Suite, calls: Sequence[Call]) -> bool:
        needed = (suite.machine.NEEDS.get(call.rule) for call in calls)
        return all(power is None or power in self.powers for power in needed)

    def _with(self, allowed: frozenset[Power]) -> Trials:
        fewer = copy(self)
        fewer.allowed = allowed
        return fewer

    def _run(self, suite: Suite, setting: str, calls: _Calls) -> Ran:
        number = self.number = next(self._numbers)
        started = time.monotonic()
        opened: list[RealTimeCluster] = []
        made: list[Call] = []
        machine: JudgedMachine | None = None
        stuck: str | None = None

        def opens(
            *,
            min_insync_replicas: int = 1,
            unclean_leader_election: bool = False,
            broker_settings: BrokerSettings = QUICK,
            bugs: Bugs = NO_BUGS,
            verifies_transactions: bool = True,
        ) -> DrivenCluster:
            cluster = RealTimeCluster(
                self.brokers,
                discovered(self.system.bootstrap_servers),
                pace=Pace(self.pace),
                prefix=f"{self._salt}-{number}-",
                min_insync_replicas=min_insync_replicas,
                unclean_leader_election=unclean_leader_election,
                broker_settings=broker_settings,
                bugs=bugs,
                verifies_transactions=verifies_transactions,
            )
            opened.append(cluster)
            return cluster

        try:
            try:
                machine = suite.machine(setting, judge=(), opens=opens)  # type: ignore[call-arg]
            finally:
                self.brokers.opened()
            opened[0].run_until(lambda: not self.brokers.opening, OPENS_WITHIN_MS)
            for call in calls(machine):
                made.append(call)
                call.run(machine)
            machine.teardown()
        except (NoProgress, NoCommonVersion) as fault:
            stuck = str(fault)
        except Shown as shown:  # progress alone is judged
            stuck = shown.how
        finally:
            for cluster in opened:
                cluster.close()
        is_observed = machine is not None and machine.observed is not None
        return Ran(
            setting=setting,
            calls=tuple(made),
            is_observed=is_observed,
            shown=_shown(machine) if machine is not None and is_observed else {},
            stuck=stuck,
            history=tuple(one for cluster in opened for one in cluster.recorded()),
            inflicted=tuple(one for cluster in opened for one in cluster.inflicted),
            seconds=round(time.monotonic() - started, 1),
        )


def _shown(machine: JudgedMachine) -> dict[str, str]:
    goals = (f"{claim}: {goal}" for claim, goals in machine.SOMETIMES.items() for goal in goals)
    found = ((name, machine.shows(name)) for name in (*machine.ALWAYS, *goals))
    return {name: how for name, how in found if how is not None}
