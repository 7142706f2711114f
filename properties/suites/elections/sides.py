"""The suite `elections`: its claims inside and outside their conditions."""

from __future__ import annotations

from typing import Final

from properties.suites.elections.rules import ElectionsMachine
from properties.suites.elections.settings import SETTINGS
from properties.suites.suite import Suite, inside, outside
from reference_impl.node.bugs import Bug

SUITE: Final = Suite(
    name="elections",
    summary="who is in sync, who leads and what is committed while brokers die in every order",
    machine=ElectionsMachine,
    inside=(
        *(
            inside(claim, "clean", SETTINGS["clean"].condition)
            for claim in (
                "committed_definition",
                "identical_replicas",
                "min_isr_refuses",
                "clean_election",
                "wait_for_last_leader",
            )
        ),
        inside("writes_to_leader", "acks=1", "a stale leader's own is replaced"),
        inside("survives_f_failures", "two failures", "the third has everything"),
        inside("isr_shrinks", "min.insync.replicas=1", "alone in sync, the leader goes on"),
        inside("unclean_election", "unclean", "who lacks the end of the log leads"),
    ),
    outside=(
        outside("clean_election", "unclean", "the last in sync is away, and another leads"),
        outside("wait_for_last_leader", "unclean", "nobody waits"),
        outside("wait_for_last_leader", "power loss", "it comes back without its end"),
        outside("writes_to_leader", "unclean", "what was committed is replaced"),
        outside("identical_replicas", "unclean", "who was away has other records"),
        outside("survives_f_failures", "three failures", "nobody has it any more"),
        outside("isr_shrinks", "clean", "below its minimum the high watermark stands still"),
        outside("unclean_election", "min.insync.replicas=1", "the last one in sync is awaited"),
        outside(
            "committed_definition",
            "clean",
            "a member of the set forgets what it had",
            Bug.TRUNCATE_TO_HIGH_WATERMARK,
        ),
        outside(
            "committed_definition",
            "clean",
            "committed by the leader alone",
            Bug.MINIMUM_IGNORED,
        ),
        outside(
            "min_isr_refuses",
            "clean",
            "acknowledged before anybody else has it",
            Bug.ACK_BEFORE_REPLICATION,
        ),
        outside("min_isr_refuses", "clean", "weakly accepted", Bug.MINIMUM_IGNORED),
        outside(
            "clean_election",
            "clean",
            "who was in sync forgot what it had",
            Bug.TRUNCATE_TO_HIGH_WATERMARK,
        ),
        outside(
            "survives_f_failures",
            "two failures",
            "only the leader had it",
            Bug.ACK_BEFORE_REPLICATION,
        ),
    ),
)
