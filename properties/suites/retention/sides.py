"""The expected verdicts of the suite `retention`: each row has a claim and a setting.

A setting is the configuration of a run. For a row of `inside`, no run with the setting may break
the claim. For a row of `outside`, some run with the setting must break the claim. If the row names
bugs, the broker has these bugs.
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
