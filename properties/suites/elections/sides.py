"""The expected verdicts of the suite `elections`.

An expected verdict states that a claim holds in a setting, or that some run in the setting breaks
the claim. The module `suite` explains the details.
"""

from __future__ import annotations

from typing import Final

from properties.suites.elections.rules import ElectionsMachine
from properties.suites.elections.settings import SETTINGS
from properties.suites.suite import Suite, inside, outside
from reference_impl.node.bugs import Bug

SUITE: Final = Suite(
    name="elections",
    summary="the in-sync set, elections and committed records while brokers crash in every order",
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
        inside("writes_to_leader", "acks=1", "the records of a stale leader are replaced"),
        inside(
            "survives_f_failures", "two failures", "the third replica has every committed record"
        ),
        inside(
            "isr_shrinks", "min.insync.replicas=1", "the leader that is alone in sync continues"
        ),
        inside("unclean_election", "unclean", "a replica that lacks the end of the log leads"),
    ),
    outside=(
        outside("committed_definition", "unclean", "the next leader is in sync without them"),
        outside("min_isr_refuses", "acks=1", "a send with acks=1 waits for no follower"),
        outside("clean_election", "unclean", "the last in-sync replica is down, and another leads"),
        outside("wait_for_last_leader", "unclean", "the election does not wait"),
        outside(
            "wait_for_last_leader", "power loss", "the replica returns without the end of its log"
        ),
        outside("writes_to_leader", "unclean", "committed records are replaced"),
        outside("identical_replicas", "unclean", "a replica that was down has other records"),
        outside("survives_f_failures", "three failures", "no replica has the record any more"),
        outside("isr_shrinks", "clean", "below min.insync.replicas the high watermark stops"),
        outside(
            "unclean_election",
            "min.insync.replicas=1",
            "the partition waits for the last in-sync replica",
        ),
        outside(
            "committed_definition",
            "clean",
            "an in-sync replica truncates committed records",
            Bug.TRUNCATE_TO_HIGH_WATERMARK,
        ),
        outside(
            "committed_definition",
            "clean",
            "the leader commits alone",
            Bug.MINIMUM_IGNORED,
        ),
        outside(
            "min_isr_refuses",
            "clean",
            "a record is acknowledged before any follower has it",
            Bug.ACK_BEFORE_REPLICATION,
        ),
        outside(
            "min_isr_refuses",
            "clean",
            "a send is accepted with too few in-sync replicas",
            Bug.MINIMUM_IGNORED,
        ),
        outside(
            "clean_election",
            "clean",
            "an in-sync replica truncated committed records",
            Bug.TRUNCATE_TO_HIGH_WATERMARK,
        ),
        outside(
            "survives_f_failures",
            "two failures",
            "only the leader had the record",
            Bug.ACK_BEFORE_REPLICATION,
        ),
    ),
)
