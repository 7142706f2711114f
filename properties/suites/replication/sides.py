"""The suite `replication`: the claims about publishing to a replicated log, on both sides."""

from __future__ import annotations

from typing import Final

from properties.claims.replication import ALWAYS
from properties.suites.replication.rules import ReplicationMachine
from properties.suites.replication.settings import SETTINGS
from properties.suites.suite import Suite, inside, outside
from reference_impl.node.bugs import Bug

SUITE: Final = Suite(
    name="replication",
    summary="publishing to three replicas under crashes, splits and lost answers",
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
        inside("ambiguous_send", "no retries", "a lost answer and a lost request look alike"),
        inside("no_retry_loses", "no retries", "a request that never arrived is not sent again"),
        inside("retry_duplicates", "not idempotent", "the broker cannot know a retry"),
        inside("acks_levels", "acks=0", "nobody hears that a request was lost"),
        inside("acks_levels", "acks=1", "the leader dies before its followers have the record"),
    ),
    outside=(
        outside("exactly_once_publish", "not idempotent", "a retry is appended again"),
        outside("append_order", "not idempotent", "a retry lands behind its successor"),
        outside("committed_survives", "acks=1", "acknowledged is not yet replicated"),
        outside(
            "offset_identifies", "acks=1, no retries", "an offset that was lost is given again"
        ),
        outside("linearizable_offsets", "acks=1, no retries", "the log loses its end"),
        outside("linearizable_offsets", "idempotent", "a stale leader still answers"),
        outside("ambiguous_send", "idempotent", "retries until acknowledged end the doubt"),
        outside("no_retry_loses", "idempotent", "what is lost is sent again"),
        outside("retry_duplicates", "idempotent", "the broker knows a retry by its number"),
        outside("acks_levels", "idempotent", "acks=all acknowledges what is replicated"),
        *(
            outside(claim, "idempotent", because, bug)
            for claim, bug, because in (
                ("exactly_once_publish", Bug.NO_DEDUP, "a retry is appended again"),
                (
                    "exactly_once_publish",
                    Bug.DEDUP_LOST_ON_FAILOVER,
                    "the new leader does not know the retry",
                ),
                (
                    "committed_survives",
                    Bug.TRUNCATE_TO_HIGH_WATERMARK,
                    "a follower forgets what it had, and is elected",
                ),
                (
                    "committed_survives",
                    Bug.ACK_BEFORE_REPLICATION,
                    "the leader dies with the only copy",
                ),
                ("committed_survives", Bug.LOST_APPEND, "acknowledged and not kept"),
                ("offset_identifies", Bug.ZERO_OFFSET_ACK, "offset 0 is told again"),
                ("offset_identifies", Bug.REORDERED_ACK_OFFSET, "an older offset is told again"),
            )
        ),
        *(
            outside("linearizable_offsets", "read at the leader", because, bug)
            for bug, because in (
                (Bug.REORDERED_ACK_OFFSET, "an acknowledgement goes back"),
                (Bug.STALE_END_OFFSET, "the end of the log goes back"),
            )
        ),
        # With retries the same record would come to the same offset, and nobody would notice.
        outside(
            "reads_are_committed",
            "no retries",
            "what was read is lost with the leader",
            Bug.READ_ABOVE_HIGH_WATERMARK,
        ),
    ),
)
