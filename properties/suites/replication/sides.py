"""The expected verdicts of the suite `replication`.

An expected verdict states that a claim holds in a setting, or that some run in the setting breaks
the claim. The module `suite` explains the details.
"""

from __future__ import annotations

from typing import Final

from properties.claims.replication import ALWAYS
from properties.suites.replication.rules import ReplicationMachine
from properties.suites.replication.settings import SETTINGS
from properties.suites.suite import Suite, inside, outside
from reference_impl.node.bugs import Bug

SUITE: Final = Suite(
    name="replication",
    summary="a producer publishes to three replicas under crashes, cut links and lost responses",
    machine=ReplicationMachine,
    inside=(
        *(
            inside(claim, "idempotent", SETTINGS["idempotent"].condition)
            for claim in ALWAYS
            if claim != "linearizable_offsets"
        ),
        inside(
            "linearizable_offsets", "read at the leader", SETTINGS["read at the leader"].condition
        ),
        inside("committed_survives", "reassigned", SETTINGS["reassigned"].condition),
        inside("ambiguous_send", "no retries", "a lost response and a lost request look alike"),
        inside("no_retry_loses", "no retries", "a request that never arrived is not sent again"),
        inside("retry_duplicates", "not idempotent", "the broker cannot recognize a retry"),
        inside("acks_levels", "acks=0", "the producer does not learn that a request was lost"),
        inside("acks_levels", "acks=1", "the leader dies before its followers have the record"),
    ),
    outside=(
        outside("exactly_once_publish", "not idempotent", "a retry is appended again"),
        outside("append_order", "not idempotent", "a retry is appended after its successor"),
        outside("committed_survives", "acks=1", "an acknowledged record may not be replicated yet"),
        outside(
            "offset_identifies", "acks=1, no retries", "an offset that was lost is assigned again"
        ),
        outside(
            "reads_are_committed", "unclean", "the next leader lacks a record that was read before"
        ),
        outside("linearizable_offsets", "acks=1, no retries", "the log loses its last records"),
        outside("linearizable_offsets", "idempotent", "a stale leader still returns end offsets"),
        outside("ambiguous_send", "idempotent", "retries until acknowledged reveal the outcome"),
        outside("no_retry_loses", "idempotent", "a lost request is sent again"),
        outside(
            "retry_duplicates", "idempotent", "the broker recognizes a retry by its sequence number"
        ),
        outside("acks_levels", "idempotent", "acks=all acknowledges only replicated records"),
        *(
            outside(claim, "idempotent", because, bug)
            for claim, bug, because in (
                ("exactly_once_publish", Bug.NO_DEDUP, "a retry is appended again"),
                (
                    "exactly_once_publish",
                    Bug.DEDUP_LOST_ON_FAILOVER,
                    "the new leader does not recognize the retry",
                ),
                (
                    "committed_survives",
                    Bug.TRUNCATE_TO_HIGH_WATERMARK,
                    "a follower truncates committed records, and is elected",
                ),
                (
                    "committed_survives",
                    Bug.ACK_BEFORE_REPLICATION,
                    "the leader dies with the only copy",
                ),
                (
                    "committed_survives",
                    Bug.LOST_APPEND,
                    "a record is acknowledged, but not appended",
                ),
                ("offset_identifies", Bug.ZERO_OFFSET_ACK, "offset 0 is acknowledged again"),
                (
                    "offset_identifies",
                    Bug.REORDERED_ACK_OFFSET,
                    "an older offset is acknowledged again",
                ),
            )
        ),
        outside(
            "exactly_once_publish",
            "new epoch",
            "a leader that restarted knows only the newest of two batches in flight",
            Bug.SNAPSHOT_KEEPS_NEWEST,
        ),
        outside(
            "committed_survives",
            "reassigned",
            "an added replica is elected before it has a record",
            Bug.ADDED_REPLICA_COUNTS,
        ),
        *(
            outside("linearizable_offsets", "read at the leader", because, bug)
            for bug, because in (
                (Bug.REORDERED_ACK_OFFSET, "an acknowledged offset goes back"),
                (Bug.STALE_END_OFFSET, "the end offset goes back"),
            )
        ),
        # With retries the same record would be appended at the same offset: nothing would show.
        outside(
            "reads_are_committed",
            "no retries",
            "a record that was read is lost with the leader",
            Bug.READ_ABOVE_HIGH_WATERMARK,
        ),
    ),
)
