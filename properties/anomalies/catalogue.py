"""The anomalies that the history analysis decides, as rows.

A family makes its rows from what is declared: what permits an anomaly is a field of the row, what
changes the definition itself is in its `find`. Judged as by Jepsen, they have its names.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from model.faults import InputFault, UnknownName
from properties.anomalies import cycles, empty_history, groups, log, order, real_time, transactions
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import JEPSEN, NOTHING_DECLARED, Declarations
from properties.anomalies.in_jepsen import in_jepsen

_FAMILIES: Final = (real_time, log, order, cycles, transactions, groups, empty_history)


@cache
def catalogue(declared: Declarations) -> tuple[Anomaly, ...]:
    """Every anomaly that is looked for in a history of which this is declared."""
    ours = tuple(one for family in _FAMILIES for one in family.anomalies(declared))
    return tuple(in_jepsen(ours)) if declared.jepsen else ours


CATALOGUE: Final = catalogue(NOTHING_DECLARED)
BY_ID: Final = {anomaly.id: anomaly for anomaly in CATALOGUE}
_THERE_ALONE: Final = [a for a in catalogue(Declarations(jepsen=True)) if a.only_with == JEPSEN]
EVERY: Final = (*CATALOGUE, *_THERE_ALONE)  # that can be asked for, whatever is declared


class NotLookedFor(InputFault):
    """An anomaly that nothing can show under these declarations; names the option."""

    def __init__(self, name: str, needs: str) -> None:
        super().__init__(f"--anomaly {name}: it is looked for with --{needs}; add that")


def named(
    names: tuple[str, ...] = (), declared: Declarations = NOTHING_DECLARED
) -> tuple[Anomaly, ...]:
    """The anomalies of these names in catalogue order, all of them without a name.

    UnknownName, or NotLookedFor.
    """
    of_all = catalogue(declared)
    needs = {one.id: one.only_with for one in EVERY}
    for name in names:
        needed = needs.get(name)
        if needed and needed not in declared.conditions():
            raise NotLookedFor(name, needed)
        if name not in {anomaly.id for anomaly in of_all}:
            raise UnknownName("anomaly", name, [anomaly.id for anomaly in of_all])
    return tuple(anomaly for anomaly in of_all if not names or anomaly.id in names)
