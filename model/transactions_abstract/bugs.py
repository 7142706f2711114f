"""Bugs of the spec `transactions-abstract`. Each bug is a rule of some Kafka releases.

Source: KIP-1228; TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue and
KafkaApis.handleAddPartitionsToTxnRequest of Apache Kafka 4.3.
"""

from __future__ import annotations

from model.language import Bool, true
from model.releases import LATEST, kafka
from model.transactions_abstract.state import TopicPartition, Transaction
from model.transactions_abstract.topic_ids import TopicIds
from model.transactions_abstract.versions import Transactions
from model.variants import bug


@bug("lax-markers", breaks="faithful", steps=9, in_force=kafka("4.0", "4.1"))
class LaxMarkers(Transactions):
    """Transaction version 2 up to Kafka 4.1: a partition accepts a marker whose epoch equals the
    largest epoch that the partition has seen (KIP-1228).

    A marker that is delivered a second time ends the producer's next transaction, because the
    records of this transaction carry the epoch of the marker. The action `write_marker` breaks the
    claims `atomic` and `faithful`.
    """

    def accepts_marker(s, t: TopicPartition, x: Transaction) -> Bool:
        return s.seen_epoch[t][s.producer[x]] <= s.marker_epoch[x]


@bug("skips-marker", breaks="faithful", steps=9, issue="KAFKA-20734", in_force=kafka("4.3", LATEST))
class SkipsMarker(Transactions):
    """The coordinator completes a transaction although a partition does not have the transaction's
    marker (KAFKA-20734).

    Kafka 4.3.0 treats a partition without a leader as a deleted partition. The transaction stays
    pending in this partition, and the marker of the producer's next transaction ends both
    transactions. The claim `no_hanging_transaction` breaks in 5 steps (at `append`), the claim
    `faithful` in 9 (at `write_marker`).
    """

    def may_complete(s, x: Transaction) -> Bool:
        return true


@bug(
    "confirms-by-name",
    breaks="no_hanging_transaction",
    steps=10,
    fixed_by="topic-ids",
    in_force=kafka("4.0", LATEST, needs="a topic that is created again"),
)
class ConfirmsByName(TopicIds):
    """The coordinator confirms a partition if the coordinator's broker knows any topic of this
    name.

    Suppose that the leader already has a new topic, and that the broker still knows the deleted
    topic. The coordinator then confirms a record of the new topic. Later, the broker learns of the
    deletion, and the coordinator sends no marker. The record stays open for ever.
    docs/findings/recreated-topic.md shows this on real brokers.
    """

    def knows_topic(s, t: TopicPartition) -> Bool:
        return ~s.known_deleted[t]
