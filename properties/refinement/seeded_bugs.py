"""Which seeded bugs of the broker the abstract specs see, in which run; and why not the others.

A row of `DETECTED` is a run that some spec does not go along with. `NOT_DETECTED` says what of a bug is in
no state of these specs: mostly a lie told to a consumer, or the business of groups and retention.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from reference_impl.node.bugs import Bug


class Detection(NamedTuple):
    """A bug, and the run in which a spec sees it first."""

    bug: Bug
    scenario: str
    seed: int
    spec: str
    action: str  # what is not allowed, does not make the state, or has no reason


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
        Bug.DELAYED_END_ACCEPTED, "late ends", 0, "transactions-abstract", "asked for this commit"
    ),
    Detection(Bug.LATE_PRODUCE_ACCEPTED, "transactional", 0, "transactions-abstract", "append"),
)

_GROUPS = "no spec of these has groups or their offsets"
_DELETION = "no spec of these deletes or compacts"
_UNCLEAN = "power losses and unclean elections are no steps of the spec, with the bug or without"
_STABLE = "last stable offsets and lists of aborted transactions are told to consumers alone"

NOT_DETECTED: Final[Mapping[Bug, str]] = {
    Bug.STALE_END_OFFSET: "an end offset that was true once may be told late; the spec has no time",
    Bug.LAST_STABLE_OFFSET_READ: _STABLE,
    Bug.ABORTED_NOT_TOLD: _STABLE,
    Bug.UNREPLICATED_MARKER_COUNTS: _STABLE,
    Bug.MINIMUM_IGNORED: "the spec is proved for an ISR of any size, and asks for no minimum",
    Bug.FAILED_FENCE_COUNTS: "a producer may take any larger epoch, however often",
    Bug.GUARD_OUTLIVES_MARKER: "in version 2 the marker's epoch refuses the batch all the same; "
    "version 1, where it does not, is no behaviour of the spec",
    **dict.fromkeys((Bug.DEAD_LEADER_RETURNS, Bug.UNCLEAN_SHUTDOWN_UNNOTICED), _UNCLEAN),
    **dict.fromkeys(
        (
            Bug.PRODUCERS_GO_WITH_RECORDS,
            Bug.DELETES_UNCOMMITTED,
            Bug.DELETION_ANSWERED_ALONE,
            Bug.MARK_LEFT_BEHIND,
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
