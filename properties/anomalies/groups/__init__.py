"""Anomalies of consumer groups: wrong committed offsets, and input that a group lost or processed
twice.
"""

from __future__ import annotations

from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import Declarations
from properties.anomalies.groups import (
    aborted_offset_read,
    group_offset_moved_without_commit,
    group_offset_went_backwards,
    input_processed_twice,
    input_skipped,
    offset_without_output,
    output_without_offset,
)


def anomalies(declared: Declarations) -> tuple[Anomaly, ...]:
    return (
        group_offset_went_backwards.ANOMALY,
        group_offset_moved_without_commit.ANOMALY,
        aborted_offset_read.ANOMALY,
        output_without_offset.ANOMALY,
        offset_without_output.anomaly(declared),
        input_processed_twice.ANOMALY,
        input_skipped.anomaly(declared),
    )
