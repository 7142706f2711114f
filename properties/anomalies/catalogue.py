"""The anomalies that the history analysis decides, as rows.

A family makes its rows from what is declared: what permits an anomaly is a field of the row, what
changes the definition itself is in its `find`.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from model.faults import UnknownName
from properties.anomalies import cycles, empty_history, groups, log, order, real_time, transactions
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declared import NOTHING, Declared

_FAMILIES: Final = (real_time, log, order, cycles, transactions, groups, empty_history)


@cache
def catalogue(declared: Declared) -> tuple[Anomaly, ...]:
    """Every anomaly that is looked for in a history of which this is declared."""
    return tuple(one for family in _FAMILIES for one in family.anomalies(declared))


CATALOGUE: Final = catalogue(NOTHING)
BY_ID: Final = {anomaly.id: anomaly for anomaly in CATALOGUE}


def named(names: tuple[str, ...] = (), declared: Declared = NOTHING) -> tuple[Anomaly, ...]:
    """The anomalies of these names in catalogue order, all of them without a name; UnknownName."""
    of_all = catalogue(declared)
    for name in names:
        if name not in {anomaly.id for anomaly in of_all}:
            raise UnknownName("anomaly", name, [anomaly.id for anomaly in of_all])
    return tuple(anomaly for anomaly in of_all if not names or anomaly.id in names)
