"""Anomalies of a log: records that are lost, duplicated, invented, or visible too early."""

from __future__ import annotations

from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import Declarations
from properties.anomalies.log import (
    aborted_read,
    duplicate,
    duplicate_across_keys,
    inconsistent_offsets,
    lost_write,
    precommitted_read,
    unseen,
    value_nobody_sent,
)


def anomalies(declared: Declarations) -> tuple[Anomaly, ...]:
    return (
        inconsistent_offsets.ANOMALY,
        duplicate.ANOMALY,
        duplicate_across_keys.ANOMALY,
        value_nobody_sent.ANOMALY,
        lost_write.anomaly(declared),
        unseen.anomaly(declared),
        aborted_read.ANOMALY,
        precommitted_read.ANOMALY,
    )
