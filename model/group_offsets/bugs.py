"""Bugs of committed offsets. Each class changes the spec so that a claim no longer holds.

The decorator of each class names the claim.
"""

from __future__ import annotations

from model.group_offsets.state import Commit, Entry, LogOffset, Member
from model.group_offsets.versions import GroupOffsets
from model.language import Bool, action, exists, ite, nothing, true
from model.releases import UNRELEASED, kafka
from model.variants import bug


@bug(
    "forgets-generation",
    breaks="each_input_once",
    steps=14,
    issue="KIP-447",
    in_force=kafka("0.11", "2.4"),
)
class ForgetsGeneration(GroupOffsets):
    """Before KIP-447: a transactional commit carries no generation, so the coordinator accepts the
    commit of a zombie.

    The group has given the zombie's partition to another consumer, which has committed the output
    of the same inputs.
    """

    def accepts(s, m: Member) -> Bool:
        return true


@bug(
    "returns-unstable",
    breaks="each_input_once",
    steps=14,
    issue="KIP-447",
    in_force=kafka("0.11", "2.4"),
)
class ReturnsUnstable(GroupOffsets):
    """Without requireStable, OffsetFetch returns the committed offset even while a later commit is
    pending.

    The new owner of the partition starts at the old offset, because the marker of the old owner's
    transaction is still in flight (KIP-447).
    """

    def may_return_offset(s) -> Bool:
        return true


@bug(
    "forgets-refused",
    breaks="pending_is_decided",
    steps=5,
    issue="KAFKA-16371",
    in_force=kafka(None, "3.7.0"),
)
class ForgetsRefused(GroupOffsets):
    """A commit that the coordinator refuses for its size remains pending in the cache
    (KAFKA-16371).

    The coordinator changes its cache before it checks the size. No marker for this commit will ever
    come, so the offset is unstable for ever.
    """

    @action
    def commit_too_much(s, m: Member) -> None:
        """The coordinator refuses the commit, but records it as pending in the cache."""
        super().commit_too_much(m)
        s.cache.pending[m].offset = s.consumer[m].position


@bug(
    "expires-in-rebalance",
    breaks="committed_offsets_last",
    steps=3,
    issue="KAFKA-13636",
    in_force=kafka("2.4", "3.1.0", fixed_in=("2.8.2", "3.0.1")),
)
class ExpiresInRebalance(GroupOffsets):
    """A committed offset expires during a rebalance, if it was committed long ago (KAFKA-13636).

    This happens to a group that has members, but commits seldom because it has little traffic.
    """

    def may_expire(s) -> Bool:
        return s.is_empty() | s.group.is_rebalancing


@bug(
    "drops-deleted-groups",
    breaks="committed_is_the_last_that_counts",
    steps=7,
    issue="KAFKA-4704",
    in_force=kafka("0.10.1", "0.10.1", "the new coordinator fails while it reads the log"),
)
class DropsDeletedGroups(GroupOffsets):
    """A new coordinator drops a group if the log contains a tombstone of the group at any position
    (KAFKA-4704).

    The tombstone belongs to an earlier group of the same name. The present group loses the commits
    that follow the tombstone.
    """

    def read(s, at: LogOffset) -> Entry:
        deleted = exists(s.log[x].ends_group for x in LogOffset)
        return ite(deleted, Entry.plain(nothing), s.log[at])


@bug("ranks-by-marker", breaks="committed_is_the_last_that_counts", steps=11, in_force=UNRELEASED)
class RanksByMarker(GroupOffsets):
    """A COMMIT marker puts the commit of its transaction into effect, even if a later commit in the
    log is already in effect.

    For example, a transaction sends offset 3, then a plain commit sets offset 5, and then the
    marker of the transaction sets offset 3.
    """

    def outranks(s, waiting: Commit, committed: Commit) -> Bool:
        return waiting.offset != nothing


@bug("counts-aborted", breaks="no_input_is_skipped", steps=8, in_force=UNRELEASED)
class CountsAborted(GroupOffsets):
    """A marker commits the pending offset, even if it is an ABORT marker.

    As a consequence, some inputs below the committed offset have no committed output.
    """

    def commits(s, marker: Entry) -> Bool:
        return true
