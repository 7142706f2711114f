"""The expected verdicts of the suite `retention`.

An expected verdict states that a claim holds in a setting, or that some run in the setting breaks
the claim. The module `suite` explains the details.
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
