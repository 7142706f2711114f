"""The catalogue: all anomalies that the history analysis decides.

A declaration of the user (`Declarations`) may permit an anomaly, or change its definition. If the
user declares `jepsen`, the anomalies have the names that Jepsen's Kafka checker uses.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from model.faults import InputFault, UnknownName
from properties.anomalies import cycles, empty_history, groups, log, order, real_time, transactions
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import JEPSEN, NOTHING_DECLARED, Declarations
from properties.anomalies.in_jepsen import in_jepsen

_CHECKERS: Final = (real_time, log, order, cycles, transactions, groups, empty_history)


@cache
def catalogue(declared: Declarations) -> tuple[Anomaly, ...]:
    """Returns the anomalies that the analysis looks for if the user makes the declarations
    `declared`.
    """
    ours = tuple(one for checkers in _CHECKERS for one in checkers.anomalies(declared))
    return tuple(in_jepsen(ours)) if declared.jepsen else ours


CATALOGUE: Final = catalogue(NOTHING_DECLARED)
BY_ID: Final = {anomaly.id: anomaly for anomaly in CATALOGUE}
_JEPSEN_ONLY: Final = [a for a in catalogue(Declarations(jepsen=True)) if a.only_with == JEPSEN]
EVERY: Final = (*CATALOGUE, *_JEPSEN_ONLY)  # all that a user can select, under some declaration


class NotLookedFor(InputFault):
    """Raised if the user selects an anomaly that the analysis looks for only with an option. The
    message names the option.
    """

    def __init__(self, name: str, needs: str) -> None:
        super().__init__(f"--anomaly {name} is only checked with --{needs}; add that option")


def named(
    names: tuple[str, ...] = (), declared: Declarations = NOTHING_DECLARED
) -> tuple[Anomaly, ...]:
    """Returns the anomalies with the given names, in the order of the catalogue. If `names` is
    empty, returns the whole catalogue.

    Raises `NotLookedFor` if an anomaly requires an option that is not in `declared`. Raises
    `UnknownName` if a name in `names` is not in the catalogue.
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
