"""Offsets in real time: what was known of a log before an operation began, it must not contradict.

The clocks of all processes are one clock: the recorder's.
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
    """The family, in the order of the catalogue."""
    del declared
    return (
        offset_order_inversion.ANOMALY,
        stale_end_offset.ANOMALY,
        future_read.ANOMALY,
        stale_group_offset.ANOMALY,
    )
