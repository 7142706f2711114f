"""Anomalies of the order within one process: polls or sends that go back in the log or skip
records.
"""

from __future__ import annotations

from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import Declarations
from properties.anomalies.order import nonmonotonic, skip


def anomalies(declared: Declarations) -> tuple[Anomaly, ...]:
    return *skip.anomalies(declared), *nonmonotonic.anomalies(declared)
