"""The order of a log as one process sees it: polls and sends go forward, and polls skip nothing."""

from __future__ import annotations

from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import Declarations
from properties.anomalies.order import nonmonotonic, skip


def anomalies(declared: Declarations) -> tuple[Anomaly, ...]:
    """Returns the anomalies of this package, in catalogue order."""
    return *skip.anomalies(declared), *nonmonotonic.ANOMALIES
