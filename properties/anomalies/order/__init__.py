"""The order of a log as one process sees it: it reads forward without gaps, and sends forward."""

from __future__ import annotations

from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import Declarations
from properties.anomalies.order import nonmonotonic, skip


def anomalies(declared: Declarations) -> tuple[Anomaly, ...]:
    """The family, in the order of the catalogue."""
    return *skip.anomalies(declared), *nonmonotonic.ANOMALIES
