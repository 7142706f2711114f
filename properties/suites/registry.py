"""The table of suites, and how to add one.

A suite is a set of claims, and a Hypothesis state machine whose runs can break them. A new suite
needs these files, and an entry in `SUITES` below.

1. `properties/claims/NAME.py` defines the claims, with the standard library and `model` alone. It
   has a frozen dataclass for the observations of a run. A claim is a function of such an object.
   `ALWAYS` maps a claim to a function that returns its breaches
   (`properties.claims.breach.Breach`). If the claim holds, there are none. `SOMETIMES` maps a
   claim of the kind "X can happen" to its goals: functions that return True if X, or a part of X,
   happened.
2. `properties/claims/catalogue/` lists each claim with its statement and its condition. Its entry
   `Decider("suite", NAME)` means that this suite decides the claim.
3. `properties/suites/NAME/settings.py` lists the settings by name: the configurations of a run.
4. `properties/suites/NAME/rules.py` has the machine, whose rules Hypothesis calls:

       class GroupsMachine(ClusterMachine):  # inherits the crashes and restarts of brokers
           ALWAYS, SOMETIMES = ALWAYS, SOMETIMES
           SIMPLER: ClassVar[Mapping[str, tuple[int, ...]]] = {
               **ClusterMachine.SIMPLER, "members": (1, 2, 3)
           }

           def __init__(self, setting, *, bugs=NO_BUGS, judge=None, tally=None):
               super().__init__(setting, Cluster(bugs=bugs), bugs=bugs, judge=judge, tally=tally)

           @rule(members=st.integers(1, 3))
           def join(self, members): ...  # its docstring explains the call in counterexamples

           def end(self):  # recovers the cluster and returns the observations of the run
               self.cluster.recover()
               return Grouped(history=self.cluster.history())

   A machine whose cluster has leaders that crash and lose links inherits from
   `machines.leader_faults`. A machine without a cluster inherits from `machines.judged` and
   defines `steps`.
5. `properties/suites/NAME/sides.py` exports `SUITE`: the settings in which each claim is decided.
   The settings under `inside` satisfy the claim's condition, so the claim must hold. Under
   `outside`, the setting or a seeded bug violates the condition, and some run must break the claim:

       SUITE = Suite(
           name="groups",
           summary="what the suite drives, and under which faults",
           machine=GroupsMachine,
           inside=(inside("one_owner", "cooperative", "why the claim holds"),),
           outside=(outside("one_owner", "cooperative", "why it breaks", Bug.SOME_BUG),),
       )

Each suite must satisfy these laws, and tests check them:

- The setting, the bugs and the calls determine a run. The machine has no clock and no randomness,
  and shares no state with other machines.
- Rule arguments are integers. `SIMPLER` lists the values of each argument, the simplest first.
- The machine can be imported by name from its module, because a failing run is printed as a
  program.
- Each claim of the suite is listed in `inside` and in `outside`.
"""

from __future__ import annotations

from typing import Final

from model.faults import UnknownName
from properties.suites.delivery import sides as delivery
from properties.suites.elections import sides as elections
from properties.suites.groups import sides as groups
from properties.suites.log import sides as log
from properties.suites.replication import sides as replication
from properties.suites.retention import sides as retention
from properties.suites.suite import Suite
from properties.suites.transactions import sides as transactions

SUITES: Final = {
    suite.name: suite
    for suite in (
        replication.SUITE,
        elections.SUITE,
        log.SUITE,
        transactions.SUITE,
        retention.SUITE,
        delivery.SUITE,
        groups.SUITE,
    )
}


def suite_named(name: str) -> Suite:
    if name not in SUITES:
        raise UnknownName("suite", name, SUITES)
    return SUITES[name]
