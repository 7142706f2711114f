"""The expected verdicts of the suite `log`.

An expected verdict states that a claim holds in a setting, or that some run in the setting breaks
the claim. The module `suite` explains the details.
"""

from __future__ import annotations

from typing import Final

from properties.suites.log.rules import LogMachine
from properties.suites.suite import Suite, inside, outside
from reference_impl.node.bugs import Bug

SUITE: Final = Suite(
    name="log",
    summary="writers and readers of a replicated log, while its leaders change",
    machine=LogMachine,
    inside=(
        inside("consumer_order", "several", "each consumer instance has one position"),
        inside(
            "any_offset_readable",
            "several",
            "nothing is deleted, and each reader has its own position",
        ),
        inside("order_is_per_partition", "two partitions", "each partition is read independently"),
        inside(
            "two_writers_two_readers",
            "several",
            "nothing orders the two producers or the two consumers",
        ),
    ),
    outside=(
        outside("consumer_order", "one instance", "two positions are not one position"),
        outside("any_offset_readable", "deletion", "deleted records are not retained"),
        outside(
            "any_offset_readable",
            "several",
            "an offset was acknowledged, but its record was not kept",
            Bug.LOST_APPEND,
        ),
        outside("order_is_per_partition", "several", "one partition has one order"),
        outside("two_writers_two_readers", "one and one", "there is one order of each"),
    ),
)
