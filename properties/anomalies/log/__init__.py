"""The log of a key: each offset one value, each value one offset, and nothing that is lost."""

from __future__ import annotations

from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declared import Declared
from properties.anomalies.log import duplicate, inconsistent_offsets, lost_write


def anomalies(declared: Declared) -> tuple[Anomaly, ...]:
    """The family, in the order of the catalogue."""
    del declared
    return inconsistent_offsets.ANOMALY, duplicate.ANOMALY, lost_write.ANOMALY
