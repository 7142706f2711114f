"""Bugs that need a deleted topic or a partition without a leader. Each bug is a rule of some Kafka
releases.

Source: TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue and
KafkaApis.handleAddPartitionsToTxnRequest of Apache Kafka 4.3.
"""

from __future__ import annotations

from model.language import Bool, true
from model.releases import LATEST, kafka
from model.transactions.deletion import DELETED, TopicIds
from model.transactions.state import QUIET, TopicPartition
from model.variants import bug


@bug(
    "confirms-by-name",
    breaks="no_hanging_transaction",
    steps=12,
    at={**QUIET, "transactions": 1},
    fixed_by="topic-ids",
    in_force=kafka("4.0", LATEST, needs="a topic that is created again"),
)
class ConfirmsByName(TopicIds):
    """The coordinator confirms a partition if the coordinator's broker knows any topic of this
    name.

    Suppose that the leader already has a new topic, and that the broker still knows the deleted
    topic. The coordinator then confirms a record of the new topic. Later, the broker learns of the
    deletion, but not yet of the new topic, so the coordinator sends no marker. The record of the
    new topic stays open for ever, or until a marker of the next transaction ends it. This marker
    may have the opposite outcome. docs/findings/recreated-topic.md shows this on real brokers.
    """

    def confirms_topic(s, p: TopicPartition) -> Bool:
        return s.known_topic[p] != DELETED


@bug(
    "skips-marker",
    breaks="no_hanging_transaction",
    steps=9,
    at={**QUIET, "transactions": 1},
    fixed_by="topic-ids",
    issue="KAFKA-20734",
    in_force=kafka("4.3", LATEST),
)
class SkipsMarker(TopicIds):
    """The coordinator sends no marker to a partition that has no leader (KAFKA-20734).

    In Kafka 4.3, such a partition counts as deleted, although its topic exists and it will have a
    leader again.
    """

    def counts_as_deleted(s, p: TopicPartition) -> Bool:
        return true
