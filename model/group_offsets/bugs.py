"""Bugs of committed offsets: each class replaces one rule; its decorator names the claim that
fails.
"""

from __future__ import annotations

from model.group_offsets.state import Commit, Entry, LogOffset, Member
from model.group_offsets.versions import GroupOffsets
from model.language import Bool, action, exists, ite, nothing, true
from model.variants import UNKNOWN, UNRELEASED, bug, kafka


@bug(
    "forgets-generation",
    breaks="each_input_once",
    steps=14,
    id="T15",
    issue="KIP-447",
    in_force=kafka(None, "2.4"),
)
class ForgetsGeneration(GroupOffsets):
    """Before KIP-447: a transactional commit carries no generation, so a zombie's commit is
    accepted.

    The group gave the partition to another consumer, which processed the same inputs and committed.
    This bug breaks the claim `each_input_once`.
    """

    def accepts(s, m: Member) -> Bool:
        return true


@bug(
    "tells-unstable",
    breaks="each_input_once",
    steps=14,
    issue="KIP-447",
    in_force=kafka(None, "2.4"),
)
class TellsUnstable(GroupOffsets):
    """OffsetFetch without requireStable: a new owner starts before a pending offset.

    The marker of its predecessor is still in flight (KIP-447). This bug breaks the claim
    `each_input_once`.
    """

    def may_return_offset(s) -> Bool:
        return true


@bug(
    "forgets-refused",
    breaks="pending_is_decided",
    steps=5,
    id="T16",
    issue="KAFKA-16371",
    in_force=UNKNOWN,
)
class ForgetsRefused(GroupOffsets):
    """A commit that is refused for its size stays pending in the cache (KAFKA-16371).

    The cache was changed before the check. No record was written and no marker will come, so the
    offset is unstable for ever. This bug breaks the claim `pending_is_decided`.
    """

    @action
    def commit_too_much(s, m: Member) -> None:
        """The refused commit is recorded as pending."""
        super().commit_too_much(m)
        s.cache.pending[m].offset = s.consumer[m].position


@bug(
    "expires-in-rebalance",
    breaks="committed_offsets_last",
    steps=3,
    id="G7",
    issue="KAFKA-13636",
    in_force=UNKNOWN,
)
class ExpiresInRebalance(GroupOffsets):
    """Offsets expire by the age of their commit while the group rebalances (KAFKA-13636).

    A group with little traffic commits seldom, and has members all the same. This bug breaks the
    claim `committed_offsets_last`.
    """

    def may_expire(s) -> Bool:
        return s.is_empty() | s.group.is_rebalancing


@bug(
    "drops-deleted-groups",
    breaks="committed_is_the_last_that_counts",
    steps=7,
    id="G8",
    issue="KAFKA-4704",
    in_force=UNKNOWN,
)
class DropsDeletedGroups(GroupOffsets):
    """A new coordinator drops a group if its tombstone is anywhere in the log (KAFKA-4704).

    The name was used again after the tombstone, and has committed. This bug breaks the claim
    `committed_is_the_last_that_counts`.
    """

    def read(s, at: LogOffset) -> Entry:
        deleted = exists(s.log[x].ends_group for x in LogOffset)
        return ite(deleted, Entry.plain(nothing), s.log[at])


@bug("ranks-by-marker", breaks="committed_is_the_last_that_counts", steps=11, in_force=UNRELEASED)
class RanksByMarker(GroupOffsets):
    """A marker makes its commit count, although a later record is committed already.

    This bug breaks the claim `committed_is_the_last_that_counts`.
    """

    def outranks(s, waiting: Commit, committed: Commit) -> Bool:
        return waiting.offset != nothing


@bug("counts-aborted", breaks="no_input_is_skipped", steps=8, in_force=UNRELEASED)
class CountsAborted(GroupOffsets):
    """A marker makes the pending offset count, whether it says COMMIT or ABORT.

    Inputs below that offset have no output. This bug breaks the claim `no_input_is_skipped`.
    """

    def commits(s, marker: Entry) -> Bool:
        return true
