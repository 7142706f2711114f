"""The seeded bugs of the broker that abstract specs detect in a run, and those that they miss.

`DETECTED` has, for each detected bug, a run that an abstract spec rejects. `NOT_DETECTED` says why
a missed bug changes no state of these specs. Most missed bugs affect only responses to consumers,
or only groups, or only retention.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from reference_impl.node.bugs import Bug


class Detection(NamedTuple):
    """A seeded bug, the scenario and random seed of a run that shows the bug, and the spec that
    rejects this run.
    """

    bug: Bug
    scenario: str
    seed: int
    spec: str
    action: str  # part of the reason for which the run is rejected


DETECTED: Final = (
    Detection(Bug.NO_DEDUP, "replicated", 1, "idempotence-abstract", "append_next"),
    Detection(Bug.DEDUP_LOST_ON_FAILOVER, "replicated", 4, "idempotence-abstract", "append_next"),
    Detection(Bug.TRUNCATE_TO_HIGH_WATERMARK, "replicated", 0, "replication-abstract", "truncate"),
    Detection(Bug.ACK_BEFORE_REPLICATION, "replicated", 0, "idempotence-abstract", "acknowledge"),
    Detection(
        Bug.READ_ABOVE_HIGH_WATERMARK,
        "replicated",
        0,
        "replication-abstract",
        "follower_high_watermark",
    ),
    Detection(Bug.ZERO_OFFSET_ACK, "replicated", 0, "idempotence-abstract", "acked"),
    Detection(Bug.REORDERED_ACK_OFFSET, "replicated", 0, "idempotence-abstract", "acked"),
    Detection(Bug.LOST_APPEND, "replicated", 0, "replication-abstract", "replica.end_offset"),
    Detection(
        Bug.MARKER_ON_ONE_PARTITION,
        "transactional",
        0,
        "transactions-abstract",
        "complete_transaction",
    ),
    Detection(Bug.ZOMBIE_NOT_FENCED, "transactional", 0, "transactions-abstract", "took epoch"),
    Detection(
        Bug.LATE_MARKER_ACCEPTED, "late markers", 0, "transactions-abstract", "write_marker_again"
    ),
    Detection(
        Bug.DELAYED_END_ACCEPTED, "late ends", 0, "transactions-abstract", "requested this commit"
    ),
    Detection(Bug.LATE_PRODUCE_ACCEPTED, "transactional", 0, "transactions-abstract", "append"),
)

_GROUPS = "these specs have no groups and no group offsets"
_DELETION = "these specs do not delete or compact"
_UNCLEAN = "power losses and unclean elections are no steps of the spec, with or without the bug"
_STABLE = "only consumers receive last stable offsets and lists of aborted transactions"

NOT_DETECTED: Final[Mapping[Bug, str]] = {
    Bug.STALE_END_OFFSET: "an end offset may be an old one; the spec has no time",
    Bug.LAST_STABLE_OFFSET_READ: _STABLE,
    Bug.ABORTED_NOT_LISTED: _STABLE,
    Bug.UNREPLICATED_MARKER_COUNTS: _STABLE,
    Bug.SNAPSHOT_KEEPS_NEWEST: "a refused retry changes no log; for the spec, what the client "
    "then appends in a new epoch is another batch",
    Bug.MINIMUM_IGNORED: "the spec is proved for an ISR of any size, without a minimum",
    Bug.FAILED_FENCE_COUNTS: "in the spec a producer may take any larger epoch at any time",
    Bug.GUARD_OUTLIVES_MARKER: "in version 2 the epoch of the marker still fences the batch; "
    "version 1, which does not, is not mapped to the spec",
    Bug.ADDED_REPLICA_COUNTS: "reassignments are no steps of the spec, with or without the bug",
    **dict.fromkeys((Bug.DEAD_LEADER_RETURNS, Bug.UNCLEAN_SHUTDOWN_UNNOTICED), _UNCLEAN),
    **dict.fromkeys(
        (
            Bug.PRODUCERS_GO_WITH_RECORDS,
            Bug.DELETES_UNCOMMITTED,
            Bug.DELETION_ANSWERED_ALONE,
            Bug.HIGH_WATERMARK_LEFT_BEHIND,
            Bug.COMPACTS_UNCOMMITTED,
        ),
        _DELETION,
    ),
    **dict.fromkeys(
        (
            Bug.OFFSETS_DESPITE_ABORT,
            Bug.OFFSETS_LOST_AT_COMMIT,
            Bug.GENERATION_NOT_CHECKED,
            Bug.PARTITION_EPOCH_ERASED,
            Bug.REJOIN_REFUSED,
            Bug.EMPTY_GROUP_UNSETTLED,
            Bug.EXACT_EPOCH_WANTED,
            Bug.STATIC_REPLACED_WHEN_STABLE,
            Bug.STATIC_REPLACEMENT_NOT_KEPT,
            Bug.OFFSETS_EXPIRE_WHILE_ALIVE,
            Bug.OFFSETS_DROPPED_WITH_GROUP,
        ),
        _GROUPS,
    ),
}
