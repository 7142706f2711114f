"""Transactions whose topics are deleted, and created again under the same name.

A deletion removes the log of a partition, with its records, its markers and its state of producers.
The coordinator's broker learns of deletions and creations in order, but later than the leaders. If
the broker knows no topic with the name of a partition, the coordinator sends this partition no
marker.

Kafka's coordinator identifies a partition by name when a leader asks it to verify a transaction. So
it may confirm a record for the deleted topic, although the leader already has the new topic (bug
`confirms-by-name`). In the version `topic-ids`, the coordinator compares topic ids.

This version adds eight actions. No action is fair.

    topics       delete_topic, create_topic, learn_deletion, learn_creation
    coordinator  verify, skip_marker, acknowledge_marker, fail_over

Source: KAFKA-5202; KIP-890 part 1 (verification);
TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue and
KafkaApis.handleAddPartitionsToTxnRequest of Apache Kafka 4.3.
Simplified: topic ids are ordered, and each creation has a larger one. A leader learns of a deletion
or a creation at once.
"""

from __future__ import annotations

from typing import Annotated

from model.language import (
    Bool,
    Map,
    Ordered,
    Scope,
    Set,
    action,
    all_of,
    exists,
    forall,
    implies,
    lemma,
    when,
    witness,
)
from model.releases import unreleased
from model.transactions_abstract.state import Producer, ProducerEpoch, TopicPartition, Transaction
from model.transactions_abstract.versions import Transactions
from model.variants import version


class TopicId(Ordered):
    """A topic id. Each creation of a topic has a larger one than the creation before."""


@version(
    "topic-ids",
    in_force=unreleased("a proposal: the requests of transactions have no topic ids"),
)
class TopicIds(Transactions):
    """The version `v2` with topics that are deleted and created again. The coordinator confirms a
    partition only if the coordinator's broker knows the topic id that the partition's leader has.
    """

    topic_ids: Annotated[int, range(1, 10)] = 2

    topic_id: Map[TopicPartition, TopicId]
    deleted: Set[TopicPartition]
    known_id: Map[TopicPartition, TopicId]  # the latest that the coordinator's broker knows
    known_deleted: Set[TopicPartition]  # by the coordinator's broker
    ended: Map[Transaction, Set[TopicPartition]]  # the coordinator waits there for no marker
    verified: Map[Transaction, Set[TopicPartition]]  # the partition may append the first record

    def scope(s) -> Scope:
        return {**super().scope(), TopicId: s.topic_ids}

    # ---- topics

    @action
    def delete_topic(s, t: TopicPartition) -> None:
        """An administrator deletes the topic of a partition, with all that the partition stores.

        Kafka: LogManager.asyncDelete.
        Simplified: the partition's leader learns of the deletion at once.

        Every claim also holds without the guard that the topic exists.
        """
        when(~s.deleted[t])
        s.deleted[t] = True
        for x in Transaction:
            s.marked[x][t] = False
            s.written[x][t] = False
            s.pending[x][t] = False
            s.kept[x][t] = False
            s.dropped[x][t] = False
            s.verified[x][t] = False
        for producer in Producer:
            s.seen_epoch[t][producer] = ProducerEpoch.least()

    @action
    def create_topic(s, t: TopicPartition, new: TopicId) -> None:
        """An administrator creates the deleted topic again, with another topic id.

        Kafka: ReplicationControlManager.createTopics.
        Simplified: the partition's leader learns of the creation at once.

        Without the guard that the topic is deleted, the claim `no_hanging_transaction` breaks in 9
        steps.
        """
        when(s.deleted[t], s.topic_id[t] < new)
        s.topic_id[t] = new
        s.deleted[t] = False

    @action
    def learn_deletion(s, t: TopicPartition) -> None:
        """The coordinator's broker learns that the topic with the id that it knows was deleted.

        Kafka: BrokerMetadataPublisher.onMetadataUpdate.
        Simplified: the broker learns one change at a time.

        Without the guard that the topic was deleted, the claim `no_hanging_transaction` breaks in 8
        steps.
        """
        when(~s.known_deleted[t], s.deleted[t] | (s.known_id[t] < s.topic_id[t]))
        s.known_deleted[t] = True

    @action
    def learn_creation(s, t: TopicPartition, new: TopicId) -> None:
        """The coordinator's broker learns that the topic was created again.

        Kafka: BrokerMetadataPublisher.onMetadataUpdate.
        Simplified: the broker may learn of a topic id that no topic had.

        If any single guard is removed, every claim still holds. The guard on the newest topic id is
        needed for the lemma `topics_are_learnt_in_order`.
        """
        when(s.known_deleted[t], s.known_id[t] < new, new <= s.topic_id[t])
        s.known_id[t] = new
        s.known_deleted[t] = False

    # ---- the coordinator

    def knows_topic(s, t: TopicPartition) -> Bool:
        """Returns True if the coordinator's broker knows the topic id that the partition's leader
        has, and knows of no deletion of this topic.

        If the coordinator compares only the names of topics, the claim `no_hanging_transaction`
        breaks (bug `confirms-by-name`).
        """
        return ~s.known_deleted[t] & (s.known_id[t] == s.topic_id[t])

    @action
    def verify(s, x: Transaction, t: TopicPartition) -> None:
        """The coordinator confirms to the leader of a partition that the partition is in the
        transaction. The transaction must be undecided, and the coordinator's broker must know the
        leader's topic.

        Kafka: KafkaApis.handleAddPartitionsToTxnRequest, with verifyOnly.
        Simplified: the request and its response are one step.

        Without the guard that the transaction is undecided, or without the comparison of topics,
        the claim `no_hanging_transaction` breaks in 10 steps.
        """
        when(s.added[x][t], ~s.decided(x), ~s.deleted[t], s.knows_topic(t))
        s.verified[x][t] = True

    @action
    def fail_over(s) -> None:
        """Another broker becomes the coordinator. It knows all topics, and sends markers to all
        partitions again.

        Kafka: TransactionStateManager.loadTransactionsForTxnTopicPartition.
        Simplified: the new coordinator loses no state of a transaction.
        """
        for t in TopicPartition:
            s.known_id[t] = s.topic_id[t]
            s.known_deleted[t] = s.deleted[t]
            for x in Transaction:
                s.ended[x][t] = False

    @action
    def skip_marker(s, x: Transaction, t: TopicPartition) -> None:
        """The coordinator sends no marker to a partition whose topic is deleted.

        Kafka: TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue.
        Simplified: the coordinator decides this for each partition in a separate step.

        Without the guard that the coordinator's broker knows of the deletion, the claim
        `no_hanging_transaction` breaks in 7 steps.
        """
        when(s.decided(x), ~s.complete[x], s.added[x][t], s.known_deleted[t])
        s.ended[x][t] = True

    @action
    def acknowledge_marker(s, x: Transaction, t: TopicPartition) -> None:
        """The coordinator receives the response of a partition that has written the marker. The
        partition's topic may be deleted before the transaction is complete.

        Kafka: TransactionMarkerRequestCompletionHandler.onComplete.
        Simplified: no response is lost, because the coordinator also sees the marker itself.

        Without the guard that the partition has the marker, the claim `no_hanging_transaction`
        breaks in 7 steps.
        """
        when(s.marked[x][t], ~s.complete[x])
        s.ended[x][t] = True

    def may_complete(s, x: Transaction) -> Bool:
        """Returns True if every partition that was added to the transaction has the transaction's
        marker or is in `ended`. The coordinator waits for no marker of the partitions in `ended`.
        """
        return forall(s.marked[x][t] | s.ended[x][t] for t in s.added[x])

    @action
    def complete_transaction(s, x: Transaction) -> None:
        """The coordinator completes a transaction after each partition of the transaction has the
        marker, or has lost its topic.

        Kafka: the source, the simplification and the guards are those of the action in
        `AbstractTransactionsActions`.
        """
        super().complete_transaction(x)
        for t in TopicPartition:
            s.ended[x][t] = False

    # ---- partitions

    @action
    def append(s, x: Transaction, t: TopicPartition) -> None:
        """A partition appends a record of the transaction. The first record must be verified.

        Kafka: UnifiedLog.analyzeAndValidateProducerState compares the VerificationGuard.
        Simplified: the simplification and the other guards are those of the action in
        `AbstractTransactionsActions`.

        Without the guard that the record is verified, the claim `no_hanging_transaction` breaks in
        8 steps.
        """
        when(~s.deleted[t], s.pending[x][t] | s.verified[x][t])
        super().append(x, t)
        s.verified[x][t] = False

    @action
    def write_marker(s, x: Transaction, t: TopicPartition) -> None:
        """A partition writes a marker, if its topic exists. A marker names no topic id, and ends
        all verifications of its producer.

        Kafka: the source, the simplification and the other guards are those of the action in
        `AbstractTransactionsActions`.

        Every claim also holds without the guard that the topic exists.
        """
        when(~s.deleted[t])
        super().write_marker(x, t)
        for y in Transaction:
            s.verified[y][t] = s.verified[y][t] & (s.producer[y] != s.producer[x])

    # ---- witnesses

    @witness
    def a_transaction_loses_its_topic(s) -> Bool:
        """Reachable: a transaction is complete, and the topic of one of its partitions was created
        again. This partition has no record of the transaction.
        """
        return exists(
            all_of(s.complete[x], s.added[x][t], TopicId.least() < s.topic_id[t], ~s.written[x][t])
            for x in Transaction
            for t in TopicPartition
        )

    @witness
    def a_new_topic_gets_a_record(s) -> Bool:
        """Reachable: a partition has committed a record in a topic that was created again."""
        return exists(
            s.kept[x][t] & (TopicId.least() < s.topic_id[t])
            for x in Transaction
            for t in TopicPartition
        )

    # ---- lemmas

    def was_deleted(s, t: TopicPartition) -> Bool:
        return s.deleted[t] | (TopicId.least() < s.topic_id[t])

    @lemma
    def complete_is_marked(s) -> Bool:
        """If a transaction is complete, every partition that was added to it has its marker, or the
        topic was deleted at least once.
        """
        return forall(
            implies(s.complete[x], s.marked[x][t] | s.was_deleted(t))
            for x in Transaction
            for t in s.added[x]
        )

    @lemma
    def ended_has_no_record(s) -> Bool:
        """If the coordinator no longer waits for a partition's marker of a transaction, the
        transaction is decided. The partition has no pending record of the transaction, and cannot
        append a first one. It has the marker, or its topic was deleted at least once.
        """
        return forall(
            implies(
                s.ended[x][t],
                all_of(
                    s.decided(x),
                    ~s.pending[x][t],
                    ~s.verified[x][t],
                    s.marked[x][t] | s.was_deleted(t),
                ),
            )
            for x in Transaction
            for t in TopicPartition
        )

    @lemma
    def the_previous_is_complete(s) -> Bool:
        """Suppose that a producer has two transactions, and that the records of the second one
        carry the epoch of the first one's markers or a larger epoch. Then the first transaction is
        complete.

        So a late marker meets no pending record of an earlier transaction, even in a topic that was
        created again.
        """
        return forall(
            implies(
                all_of(
                    s.begun[y],
                    s.decided(x),
                    x != y,
                    s.producer[x] == s.producer[y],
                    s.marker_epoch[x] <= s.producer_epoch[y],
                ),
                s.complete[x],
            )
            for x in Transaction
            for y in Transaction
        )

    @lemma
    def pending_is_known(s) -> Bool:
        """If a partition has a pending record, or has verified a transaction, its topic exists, and
        the coordinator's broker knows it.
        """
        return forall(
            implies(s.pending[x][t] | s.verified[x][t], s.knows_topic(t) & ~s.deleted[t])
            for x in Transaction
            for t in TopicPartition
        )

    @lemma
    def verified_is_unmarked(s) -> Bool:
        """If a partition has verified a transaction, the partition was added to the transaction and
        does not have the transaction's marker. The transaction is not complete.
        """
        return forall(
            implies(s.verified[x][t], all_of(s.added[x][t], ~s.marked[x][t], ~s.complete[x]))
            for x in Transaction
            for t in TopicPartition
        )

    @lemma
    def topics_are_learnt_in_order(s) -> Bool:
        """The coordinator's broker knows no topic that is newer than the leader's topic, and no
        deletion that did not happen.
        """
        return forall(
            all_of(
                s.known_id[t] <= s.topic_id[t],
                implies(s.known_deleted[t], s.deleted[t] | (s.known_id[t] < s.topic_id[t])),
            )
            for t in TopicPartition
        )
