"""Topics that are deleted, and created again under the same name, while a transaction is open.

A deletion removes the log of a partition, with its records and its state of producers. A topic that
is created again has another topic id. But transactions identify their partitions by name: the
coordinator's metadata, a leader's request to add a partition, and markers have no topic ids.

The coordinator's broker learns of deletions and creations from the metadata log, in order, but
later than other brokers. If the broker knows no topic with the name of a partition, the coordinator
confirms nothing to a leader of this topic, and sends no marker. The transaction then completes
without the partition.

So a broker that lags may confirm a record for the deleted topic, although the leader already has
the new topic. The broker may then learn of the deletion, but not yet of the new topic. If so, the
coordinator sends no marker, and the record of the new topic stays open. In the version `topic-ids`,
the leader's request contains the topic id, so the coordinator confirms a topic only if it knows the
leader's topic id.

This version adds four actions:

    topics       delete_topic, create_topic, WF learn_topic
    coordinator  WF skip_marker

Source: KAFKA-5202; TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue,
KafkaApis.handleAddPartitionsToTxnRequest and KafkaApis.handleWriteTxnMarkersRequest of Apache Kafka
4.3.
Simplified: each topic has one partition, and is deleted at most once. A client does not send an
acknowledged record again. A new coordinator knows all topics, because it learns from the same
metadata log that it is the coordinator.
"""

from __future__ import annotations

from model.language import (
    Bool,
    Int,
    Map,
    Scope,
    Set,
    action,
    action_property,
    all_of,
    any_of,
    exists,
    forall,
    implies,
    invariant,
    when,
    witness,
)
from model.releases import unreleased
from model.transactions.claims.promises import TransactionsClaims
from model.transactions.state import (
    ABORT,
    COMMIT,
    PREPARE,
    CoordinatorEpoch,
    Instance,
    Offset,
    TopicPartition,
    Transaction,
)
from model.transactions.versions import Transactions
from model.variants import version


class TopicState(Int):
    """The state of a topic's name: the topic exists, is deleted, or exists again. A topic that is
    created again has another topic id.
    """

    labels = ("CREATED", "DELETED", "CREATED_AGAIN")


CREATED, DELETED, CREATED_AGAIN = map(TopicState, range(3))


@version(
    "topic-ids",
    at={"leader_changes": 0, "replication_lags": False, "ids_expire": False},
    in_force=unreleased("a proposal: the requests of transactions have no topic ids"),
)
class TopicIds(Transactions):
    """The version `v2` with topics that are deleted and created again. The coordinator confirms a
    partition only if the coordinator's broker knows the topic id that the partition's leader has.
    """

    metadata_lags: bool = True  # the coordinator's broker learns of topics later than the leaders

    topic: Map[TopicPartition, TopicState]  # in the metadata log, and for the leaders
    known_topic: Map[TopicPartition, TopicState]  # for the coordinator's broker
    without_marker: Set[TopicPartition]  # the coordinator sends this partition no marker
    # the transaction's acknowledged record was deleted together with the topic
    deleted: Map[Transaction, Set[TopicPartition]]

    def scope(s) -> Scope:
        return {**super().scope(), TopicState: 3}

    # ---- topics

    def exists(s, p: TopicPartition) -> Bool:
        return s.topic[p] != DELETED

    def change_topic(s, p: TopicPartition, state: TopicState) -> None:
        s.topic[p] = state
        if not s.metadata_lags:
            s.known_topic[p] = state

    @action
    def delete_topic(s, p: TopicPartition) -> None:
        """An administrator deletes the topic of a partition. The partition's log and its state of
        producers are removed.

        Kafka: LogManager.asyncDelete.
        Simplified: the partition's leader learns of the deletion at once.

        Without the guard that the topic exists, the claim `stable_offsets_do_not_go_back` breaks in
        9 steps.
        """
        when(s.topic[p] == CREATED)
        for k in Transaction:
            s.deleted[k][p] = s.is_acknowledged(p, k)
        s.truncate(p, Offset(0))
        s.change_topic(p, DELETED)

    @action
    def create_topic(s, p: TopicPartition) -> None:
        """An administrator creates the deleted topic again. The topic has another topic id and an
        empty log.

        Kafka: ReplicationControlManager.createTopics.
        Simplified: the partition's leader learns of the creation at once.

        Without the guard that the topic is deleted, the claim `no_hanging_transaction` breaks in 11
        steps.
        """
        when(s.topic[p] == DELETED)
        s.change_topic(p, CREATED_AGAIN)

    @action(fair="weak")
    def learn_topic(s, p: TopicPartition) -> None:
        """The coordinator's broker learns that a topic was deleted or created again.

        Kafka: BrokerMetadataPublisher.onMetadataUpdate.
        Simplified: the broker learns one change at a time.
        """
        when(s.known_topic[p] < s.topic[p])
        s.known_topic[p] = s.known_topic[p] + 1

    # ---- partitions

    def is_in_flight(s, p: TopicPartition, k: Transaction) -> Bool:
        """Returns True if the client has sent the record, the topic exists, and the log does not
        have the record. A record that was deleted together with its topic is not in flight.
        """
        return all_of(super().is_in_flight(p, k), s.exists(p), ~s.deleted[k][p])

    def is_acknowledged(s, p: TopicPartition, k: Transaction) -> Bool:
        """Returns True if the transaction's record is acknowledged. It stays acknowledged even if
        its topic is deleted later.
        """
        return super().is_acknowledged(p, k) | s.deleted[k][p]

    @action
    def refuse_record(s, p: TopicPartition, k: Transaction, i: Instance) -> None:
        """The leader refuses a record with an old epoch, and the client closes.

        Kafka: as in the class `Partitions`, whose simplification and guards this action also has.
        """
        when(~s.deleted[k][p])
        super().refuse_record(p, k, i)

    def put_marker(s, p: TopicPartition, k: Transaction, epoch: CoordinatorEpoch) -> None:
        """Appends a marker if the topic exists. A marker names no topic id."""
        when(s.exists(p))
        super().put_marker(p, k, epoch)

    @action
    def change_leader(s, p: TopicPartition, end: Offset) -> None:
        """Another replica becomes leader, if the topic exists.

        Kafka: see `Partitions.change_leader` for the source, the simplification and the other
        guards.
        """
        when(s.exists(p))
        super().change_leader(p, end)

    # ---- the coordinator

    def confirms_topic(s, p: TopicPartition) -> Bool:
        """Returns True if the coordinator's broker and the partition's leader know the same topic
        id.

        If the coordinator compares only the names of topics, the claim `no_hanging_transaction`
        breaks (bug `confirms-by-name`, 12 steps).
        """
        return s.known_topic[p] == s.topic[p]

    @action
    def add_partition(s, p: TopicPartition, k: Transaction) -> None:
        """The coordinator adds a partition to the transaction, if the coordinator's broker knows
        the topic that the leader has.

        Kafka: KafkaApis.handleAddPartitionsToTxnRequest answers UNKNOWN_TOPIC_OR_PARTITION.
        Simplified: as in the class `Coordinator`, whose guards this action also has.
        """
        when(s.confirms_topic(p))
        super().add_partition(p, k)

    def vouches(s, k: Transaction, p: TopicPartition) -> Bool:
        """Returns True if the coordinator confirms to the leader of `p` that `p` is in the
        transaction. In addition to the condition of `v2`, the coordinator's broker must know the
        topic that the leader has.
        """
        return super().vouches(k, p) & s.confirms_topic(p)

    @action
    def fail_over(s, epoch: CoordinatorEpoch) -> None:
        """A new coordinator reads its log. The broker of the new coordinator knows all topics.

        Kafka: as in the class `Coordinator`, whose simplification and guards this action also has.

        The new coordinator sends markers to all partitions again.
        """
        super().fail_over(epoch)
        for p in TopicPartition:
            s.known_topic[p] = s.topic[p]
            s.without_marker[p] = False

    def counts_as_deleted(s, p: TopicPartition) -> Bool:
        """Returns True if the coordinator's broker knows that the topic is deleted, and does not
        know a new topic with the same name. The coordinator then treats the topic as deleted.
        """
        return s.known_topic[p] == DELETED

    @action(fair="weak")
    def skip_marker(s, p: TopicPartition) -> None:
        """The coordinator sends no marker to a partition whose topic is deleted.

        Kafka: TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue finds no leader, and
        removes the partition from the transaction.

        If a partition without a leader counts as deleted too, the claim `no_hanging_transaction`
        breaks (bug `skips-marker`, 9 steps). The guard `~is_appending` ensures that the completion
        of the transaction is not in the coordinator's log yet. Without this guard, the partition
        would also get no marker of the next transaction, and the claim `no_hanging_transaction`
        breaks in 27 steps.
        """
        when(
            s.metadata.state == PREPARE,
            ~s.is_appending(),
            s.metadata.partitions[p],
            ~s.without_marker[p],
            s.counts_as_deleted(p),
        )
        s.without_marker[p] = True

    def has_ended(s, p: TopicPartition) -> Bool:
        """Returns True if the transaction's marker is committed in the partition, or the
        coordinator sends the partition no marker because its topic is deleted.
        """
        return super().has_ended(p) | s.without_marker[p]

    @action(fair="weak")
    def complete(s) -> None:
        """The coordinator completes a transaction after every partition of the transaction has
        committed its marker, or has lost its topic.

        Kafka: the source, the simplification and the guards are those of the action in `Markers`.
        """
        super().complete()
        for p in TopicPartition:
            s.without_marker[p] = False

    # ---- claims

    @invariant
    def a_commit_is_whole(s) -> Bool:
        """After a client's commit succeeds, each partition to which the transaction sent a record
        has this record in its log, and no marker has aborted the record.

        The only exceptions are records whose topic was deleted after the record was acknowledged.
        """
        return forall(
            implies(
                s.end_confirmed[k] & (s.requested[k] == COMMIT) & ~s.deleted[k][p],
                exists(s.is_in(p, o, k) & ~s.closed_as(p, o, ABORT) for o in Offset),
            )
            for k in Transaction
            for p in s.sent[k]
        )

    @invariant
    def added_partitions_are_confirmed(s) -> Bool:
        """Suppose that the coordinator has added a partition to an ongoing transaction, and that
        the coordinator's broker and the partition's leader know the same topic id. Then the
        coordinator confirms the partition if the leader asks.
        """
        return forall(
            implies(
                all_of(s.has_added(k, p), s.exists(p), s.known_topic[p] == s.topic[p]),
                s.vouches(k, p),
            )
            for k in Transaction
            for p in TopicPartition
        )

    @action_property
    def stable_offsets_do_not_go_back(s, after: TransactionsClaims) -> Bool:
        """The last stable offset of a partition never falls, unless the partition's log is deleted
        together with its topic.
        """
        return forall(
            any_of(
                s.last_stable_offset(p) <= after.last_stable_offset(p),
                (s.topic[p] == CREATED) & (after.log[p].end_offset == 0),
            )
            for p in TopicPartition
        )

    # ---- witnesses

    @witness
    def a_commit_loses_its_topic(s) -> Bool:
        """Reachable: a client's commit succeeds, although the topic of an acknowledged record of
        the transaction was deleted.
        """
        return exists(
            s.end_confirmed[k] & (s.decided[k] == COMMIT) & s.deleted[k][p]
            for k in Transaction
            for p in TopicPartition
        )

    @witness
    def a_new_topic_gets_a_record(s) -> Bool:
        """Reachable: read_committed consumers receive a record of a topic that was created a second
        time.
        """
        return exists(
            (s.topic[p] == CREATED_AGAIN) & s.is_read_committed(p, o)
            for p in TopicPartition
            for o in Offset
        )
