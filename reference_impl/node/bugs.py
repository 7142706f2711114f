"""Seeded bugs: named defects of the reference broker that tests can switch on.

A bug is off unless the argument `bugs` of the node's constructor contains the bug. The occurrences
of a bug depend on counters of the broker (for example, each seventh append is lost), so a run with
a bug is reproducible.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from model.faults import UnknownName


class Bug(Enum):
    # Each step looks for bugs in a set, and the hash of `Enum` is that of the name, in Python.
    __hash__ = object.__hash__

    NO_DEDUP = "no-dedup"
    DEDUP_LOST_ON_FAILOVER = "dedup-lost-on-failover"
    SNAPSHOT_KEEPS_NEWEST = "snapshot-keeps-newest"
    PRODUCERS_GO_WITH_RECORDS = "producers-go-with-records"
    DELETES_UNCOMMITTED = "deletes-uncommitted"
    DELETION_ANSWERED_ALONE = "deletion-answered-alone"
    HIGH_WATERMARK_LEFT_BEHIND = "high-watermark-left-behind"
    DEAD_LEADER_RETURNS = "dead-leader-returns"
    ADDED_REPLICA_COUNTS = "added-replica-counts"
    UNCLEAN_SHUTDOWN_UNNOTICED = "unclean-shutdown-unnoticed"
    TRUNCATE_TO_HIGH_WATERMARK = "truncate-to-high-watermark"
    ACK_BEFORE_REPLICATION = "ack-before-replication"
    READ_ABOVE_HIGH_WATERMARK = "read-above-high-watermark"
    STALE_END_OFFSET = "stale-end-offset"
    ZERO_OFFSET_ACK = "zero-offset-ack"
    REORDERED_ACK_OFFSET = "reordered-ack-offset"
    LOST_APPEND = "lost-append"
    MINIMUM_IGNORED = "minimum-ignored"
    LAST_STABLE_OFFSET_READ = "last-stable-offset-read"
    ABORTED_NOT_LISTED = "aborted-not-listed"
    UNREPLICATED_MARKER_COUNTS = "unreplicated-marker-counts"
    COMPACTS_UNCOMMITTED = "compacts-uncommitted"
    GUARD_OUTLIVES_MARKER = "guard-outlives-marker"
    LATE_MARKER_ACCEPTED = "late-marker-accepted"
    MARKER_ON_ONE_PARTITION = "marker-on-one-partition"
    ZOMBIE_NOT_FENCED = "zombie-not-fenced"
    FAILED_FENCE_COUNTS = "failed-fence-counts"
    DELAYED_END_ACCEPTED = "delayed-end-accepted"
    LATE_PRODUCE_ACCEPTED = "late-produce-accepted"
    OFFSETS_DESPITE_ABORT = "offsets-despite-abort"
    OFFSETS_LOST_AT_COMMIT = "offsets-lost-at-commit"
    GENERATION_NOT_CHECKED = "generation-not-checked"
    PARTITION_EPOCH_ERASED = "partition-epoch-erased"
    REJOIN_REFUSED = "rejoin-refused"
    EMPTY_GROUP_UNSETTLED = "empty-group-unsettled"
    EXACT_EPOCH_WANTED = "exact-epoch-wanted"
    STATIC_REPLACED_WHEN_STABLE = "static-replaced-when-stable"
    STATIC_REPLACEMENT_NOT_KEPT = "static-replacement-not-kept"
    OFFSETS_EXPIRE_WHILE_ALIVE = "offsets-expire-while-alive"
    OFFSETS_DROPPED_WITH_GROUP = "offsets-dropped-with-group"


Bugs = frozenset[Bug]
NO_BUGS: Final[Bugs] = frozenset()

ZERO_OFFSET_EVERY: Final = 7  # acknowledgements
REORDERED_EVERY: Final = 5  # acknowledgements
REORDERED_BY: Final = 2  # offsets
LOST_EVERY: Final = 7  # appends
STALE_EVERY: Final = 3  # ListOffsets requests for the end offset


def bugs_named(*names: str) -> Bugs:
    """Returns the seeded bugs with these names. Raises UnknownName if a name is unknown. The
    message lists the nearest names.
    """
    known = [bug.value for bug in Bug]
    for name in names:
        if name not in known:
            raise UnknownName("seeded bug", name, known)
    return frozenset(Bug(name) for name in names)
