"""The table of suites. To add one, write two modules and a row here.

1. `properties/NAME_claims.py`, over the standard library and `model` alone: what a run of the suite
   observes, as a frozen dataclass, and the claims as literal functions of it. `ALWAYS` maps a claim
   to a function that returns its breaches (`properties.claims.breach.Breach`, none: it holds);
   `SOMETIMES` maps a claim to its goals, each a function that says whether the run shows it.
2. `properties/suites/NAME.py`, which exports `SUITE`:

       class GroupsMachine(ClusterMachine):            # the rules of time and faults are inherited
           ALWAYS, SOMETIMES = ALWAYS, SOMETIMES
           SIMPLER: ClassVar[Mapping[str, tuple[int, ...]]] = {
               **ClusterMachine.SIMPLER, "members": (1, 2, 3)
           }

           def __init__(self, setting, *, bugs=NO_BUGS, judge=None, tally=None):
               super().__init__(setting, Cluster(bugs=bugs), bugs=bugs, judge=judge, tally=tally)

           @rule(members=st.integers(1, 3))
           def join(self, members): ...

           def end(self):                              # recover, look, and return what was observed
               self.cluster.recover()
               return Grouped(history=self.cluster.history())

       SUITE = Suite(
           name="groups",
           says="what is driven, and under which faults",
           machine=GroupsMachine,
           inside=(inside("one_owner", "cooperative", "why it holds"),),
           outside=(outside("one_owner", "cooperative", "why it breaks", Bug.SOME_BUG),),
       )

   A machine that drives something else than a cluster inherits from `machine.JudgedMachine`, and
   says how many `steps` a run took.

Laws. A run is determined by the setting, the bugs and the calls: no clock, no chance, no state that
outlives the machine. Arguments of rules are ints, listed in `SIMPLER`. The machine can be imported
by its name from its module: that is how a failing run prints as a program. The claims of a suite
are those of `properties.claims.catalogue` that name it as a decider (`Decider("suite", NAME)`);
each has a side inside and one outside. What all suites owe is tested for each row of the table.
"""

from __future__ import annotations

from typing import Final

from model.faults import UnknownName
from properties.suites import (
    delivery_sides,
    elections,
    groups,
    log,
    replication_sides,
    retention,
    transactions_sides,
)
from properties.suites.suite import Suite

SUITES: Final = {
    suite.name: suite
    for suite in (
        replication_sides.SUITE,
        elections.SUITE,
        log.SUITE,
        transactions_sides.SUITE,
        retention.SUITE,
        delivery_sides.SUITE,
        groups.SUITE,
    )
}


def suite_named(name: str) -> Suite:
    """The suite of this name; UnknownName tells the nearest ones."""
    if name not in SUITES:
        raise UnknownName("suite", name, SUITES)
    return SUITES[name]
