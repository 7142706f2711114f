"""The verdict that the suite `retention` must reach on each claim, in each setting.

A claim must hold in its rows of `inside`, and must break in its rows of `outside`. A row names a
setting (the conditions of a run), and may add seeded bugs of the broker.
"""

from __future__ import annotations

from typing import Final

from properties.suites.retention.rules import RetentionMachine
from properties.suites.suite import Suite, inside, outside

SUITE: Final = Suite(
    name="retention",
    summary="a reader leaves and returns while old records are deleted",
    machine=RetentionMachine,
    inside=(inside("retention_loses", "away for less", "no record is deleted before its limit"),),
    outside=(
        outside("retention_loses", "away for longer", "records older than the limit are deleted"),
        outside("retention_loses", "by size", "retention.bytes deletes records of any age"),
    ),
)
