"""The suite `log`: its claims inside and outside their conditions."""

from __future__ import annotations

from typing import Final

from properties.suites.log.rules import LogMachine
from properties.suites.suite import Suite, inside, outside
from reference_impl.node.bugs import Bug

SUITE: Final = Suite(
    name="log",
    summary="writing to a log and reading it from anywhere, while its leaders change",
    machine=LogMachine,
    inside=(
        inside("consumer_order", "several", "each consumer instance has one position"),
        inside("any_offset_readable", "several", "nothing is deleted, and positions are their own"),
        inside("order_is_per_partition", "two partitions", "each partition is read by itself"),
        inside("two_writers_two_readers", "several", "nobody puts the two in order"),
    ),
    outside=(
        outside("consumer_order", "one instance", "two positions are not one"),
        outside("any_offset_readable", "deletion", "what is deleted is not retained"),
        outside(
            "any_offset_readable",
            "several",
            "an offset that was acknowledged and not kept has nothing to read",
            Bug.LOST_APPEND,
        ),
        outside("order_is_per_partition", "several", "one partition has one order"),
        outside("two_writers_two_readers", "one and one", "there is one order of each"),
    ),
)
