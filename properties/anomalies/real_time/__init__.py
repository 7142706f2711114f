"""Anomalies of real time: an operation contradicts a fact that was observed before the operation
began.

All times in a history come from one clock, the clock of the recorder.
"""

from __future__ import annotations

from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import Declarations
from properties.anomalies.real_time import (
    future_read,
    offset_order_inversion,
    stale_end_offset,
    stale_group_offset,
)


def anomalies(declared: Declarations) -> tuple[Anomaly, ...]:
    del declared
    return (
        offset_order_inversion.ANOMALY,
        stale_end_offset.ANOMALY,
        future_read.ANOMALY,
        stale_group_offset.ANOMALY,
    )
