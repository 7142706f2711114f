"""The suite `retention`: its claim inside and outside its condition."""

from __future__ import annotations

from typing import Final

from properties.suites.retention.rules import RetentionMachine
from properties.suites.suite import Suite, inside, outside

SUITE: Final = Suite(
    name="retention",
    summary="readers who leave and come back, while old records are deleted",
    machine=RetentionMachine,
    inside=(inside("retention_loses", "away for less", "no record goes before its limit"),),
    outside=(
        outside("retention_loses", "away for longer", "what is older than the limit is gone"),
        outside("retention_loses", "by size", "a limit of bytes promises no time"),
    ),
)
