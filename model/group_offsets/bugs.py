"""Bugs of committed offsets. Each class changes the spec so that a claim no longer holds.

The decorator of each class names the claim.
"""

from __future__ import annotations

from typing import Final

from model.group_offsets.state import Commit, Entry, LogOffset, Member, Offset, TopicPartition
from model.group_offsets.versions import GroupOffsets
from model.language import (
    Bool,
    action,
    all_of,
    exists,
    false,
    ite,
    nothing,
    true,
)
from model.releases import LATEST, UNRELEASED, InForce, kafka
from model.variants import Constants, bug

TWO_PARTITIONS: Final[Constants] = {"partitions": 2, "log_size": 2}
ONE_GENERATION: Final[Constants] = {**TWO_PARTITIONS, "generations": 1}


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

    def may_return_offset(s, p: TopicPartition) -> Bool:
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
    def commit_too_much(s, m: Member, p: TopicPartition) -> None:
        """The coordinator refuses the commit, but records it as pending in the cache."""
        super().commit_too_much(m, p)
        s.cache.pending[m][p].offset = s.consumer[m].position[p]


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
        return ite(deleted, Entry.end_of_group(), s.log[at])


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


@bug(
    "expires-pending",
    breaks="only_markers_decide",
    steps=10,
    issue="redpanda#31483",
    in_force=InForce(of="Redpanda"),
)
class ExpiresPending(GroupOffsets):
    """A committed offset expires while a later commit of its partition is pending
    (redpanda#31483).

    The tombstone also deletes the pending commit, so the marker of the transaction commits nothing.
    """

    def may_drop(s, p: TopicPartition) -> Bool:
        return true


# ---- clients and applications


@bug(
    "commits-lost-partitions",
    breaks="commits_are_current",
    steps=9,
    issue="librdkafka#2948",
    in_force=InForce(of="librdkafka"),
)
class CommitsLostPartitions(GroupOffsets):
    """A consumer keeps the stored offset of a partition that it has lost, and commits it in the
    next generation (librdkafka#2948).

    The coordinator compares only the generation, so it accepts the offset, which may be lower than
    the new owner's.
    """

    def give_up(s, m: Member) -> None:
        for p in TopicPartition:
            s.consumer[m].reads[p] = false

    def has_position(s, m: Member, p: TopicPartition) -> Bool:
        return s.consumer[m].position[p] > 0


@bug(
    "commits-unprocessed",
    breaks="no_input_is_skipped",
    steps=6,
    issue="KAFKA-18641",
    in_force=kafka("4.2", LATEST, needs="group.protocol=consumer and automatic commits"),
)
class CommitsUnprocessed(GroupOffsets):
    """A consumer commits its position while the application still processes the records below it
    (KAFKA-18641).

    If the application crashes, no consumer reads these records again. The Java consumer of Kafka
    4.2 does this: its background thread commits the position while poll moves it. In 4.0 and 4.1,
    poll waits for the commit. docs/findings/committed-before-poll.md shows this on real brokers.
    """

    def has_processed(s, m: Member) -> Bool:
        return true


@bug(
    "rejoins-in-background",
    breaks="each_input_once",
    steps=15,
    in_force=kafka(
        "4.0",
        LATEST,
        needs="group.protocol=consumer, and an application without a ConsumerRebalanceListener",
    ),
)
class RejoinsInBackground(GroupOffsets):
    """A consumer learns a new generation while its application processes records of partitions that
    the consumer has lost.

    The application then commits the output of these records. The coordinator compares only the
    generation, so it accepts the commit, although another consumer has committed the output of the
    same inputs. docs/findings/fenced-member-commits.md shows this on real brokers.
    """

    def may_learn(s, m: Member) -> Bool:
        return true

    def give_up(s, m: Member) -> None:
        for p in TopicPartition:
            works = s.has_written(m, p)
            s.consumer[m].reads[p] = s.consumer[m].reads[p] & works
            s.consumer[m].position[p] = ite(works, s.consumer[m].position[p], Offset(0))


# ---- two partitions


@bug(
    "keeps-lost-partitions",
    breaks="each_input_once",
    steps=16,
    at=TWO_PARTITIONS,
    in_force=UNRELEASED,
)
class KeepsLostPartitions(GroupOffsets):
    """A consumer that loses only some of its partitions gives up none of them.

    Two consumers read the lost partition in the same generation, and the coordinator accepts the
    commits of both.
    """

    def give_up(s, m: Member) -> None:
        keeps = exists(
            all_of(s.consumer[m].reads[p], s.group.owner[p] == m) for p in TopicPartition
        )
        for p in TopicPartition:
            s.consumer[m].reads[p] = s.consumer[m].reads[p] & keeps
            s.consumer[m].position[p] = ite(keeps, s.consumer[m].position[p], Offset(0))


@bug(
    "mixes-up-partitions",
    breaks="no_input_is_skipped",
    steps=6,
    at=ONE_GENERATION,
    in_force=UNRELEASED,
)
class MixesUpPartitions(GroupOffsets):
    """A consumer takes the committed offset of another partition from the response to OffsetFetch.

    For example, the response lists the partitions in another order than the request.
    """

    def takes_offset(s, p: TopicPartition, x: Offset) -> Bool:
        return exists(all_of(p != q, s.cache.committed[q].offset == x) for q in TopicPartition)


@bug(
    "fetches-partly-unstable",
    breaks="each_input_once",
    steps=14,
    at=TWO_PARTITIONS,
    in_force=UNRELEASED,
)
class FetchesPartlyUnstable(GroupOffsets):
    """A consumer fetches again only if all partitions of the response are unstable.

    So the consumer starts to read an unstable partition if another partition is stable.
    """

    def may_return_offset(s, p: TopicPartition) -> Bool:
        return exists(s.is_stable(q) for q in TopicPartition)


@bug(
    "commits-without-offsets",
    breaks="each_input_once",
    steps=16,
    at=TWO_PARTITIONS,
    issue="alpakka-kafka#752",
    in_force=InForce(of="Alpakka Kafka"),
)
class CommitsWithoutOffsets(GroupOffsets):
    """A transaction commits output of inputs in two partitions, but the offset of only one
    (alpakka-kafka#752).

    The next owner of the other partition processes its inputs again. The library Alpakka Kafka
    added an offset only in the callback of a send, which may run after the commit.
    """

    def has_sent_offsets(s, m: Member) -> Bool:
        return true


@bug(
    "keeps-last-request",
    breaks="pending_is_what_markers_will_decide",
    steps=9,
    at=ONE_GENERATION,
    in_force=UNRELEASED,
)
class KeepsLastRequest(GroupOffsets):
    """The coordinator keeps the pending offsets of only the last request of a transaction.

    So the marker commits the offsets of some partitions, and the other offsets are lost.
    """

    def keeps_pending(s) -> Bool:
        return false
