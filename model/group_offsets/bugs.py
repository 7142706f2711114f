"""Group offsets with one thing wrong: what was reported, and what it lets happen."""

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
    """Before KIP-447: a transactional commit tells no generation, and a zombie's is accepted.

    The group gave the partition to another, which has processed the same inputs and committed.
    Fails each_input_once.
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
    """OffsetFetch without requireStable: a new owner begins before what is pending.

    The marker of its predecessor is still on the way (KIP-447). Fails each_input_once.
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

    It was noted before it was checked, no record of it was written and no marker will come: the
    offset is unstable for ever. Fails pending_is_decided.
    """

    @action
    def commit_too_much(s, m: Member) -> None:
        """The refused commit is noted as pending."""
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

    A group that is idle commits seldom, and has members all the same. Fails
    committed_offsets_last.
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
    """A coordinator that takes over drops a group whose tombstone it reads anywhere (KAFKA-4704).

    The name was used again since, and has committed. Fails committed_is_the_last_that_counts.
    """

    def read(s, at: LogOffset) -> Entry:
        deleted = exists(s.log[x].ends_group for x in LogOffset)
        return ite(deleted, Entry.plain(nothing), s.log[at])


@bug("ranks-by-marker", breaks="committed_is_the_last_that_counts", steps=11, in_force=UNRELEASED)
class RanksByMarker(GroupOffsets):
    """What a marker commits counts, though a later record has been committed already.

    Fails committed_is_the_last_that_counts.
    """

    def outranks(s, waiting: Commit, committed: Commit) -> Bool:
        return waiting.offset != nothing


@bug("counts-aborted", breaks="no_input_is_skipped", steps=8, in_force=UNRELEASED)
class CountsAborted(GroupOffsets):
    """A marker has the pending offset count, whether it says COMMIT or ABORT.

    What was read up to there has no output. Fails no_input_is_skipped.
    """

    def commits(s, marker: Entry) -> Bool:
        return true
