"""Four variants of the spec `transactions-abstract`: two versions of Kafka's protocol, and two bugs
of the version `v2`. The version `topic-ids` has a file of its own.

- `v2`: `transaction.version` 2 (KIP-890), the default.
- `lax-markers`: up to Kafka 4.1, a partition accepts a marker with an epoch that it has seen.
- `skips-marker`: Kafka 4.3 completes a transaction although a partition has no marker.
- `v1`: the protocol before KIP-890.

Source: KIP-98; KIP-890; KIP-1228.
"""

from __future__ import annotations

from model.language import Bool, true
from model.releases import LATEST, kafka
from model.transactions_abstract.claims import AbstractTransactionsClaims
from model.transactions_abstract.state import ProducerEpoch, TopicPartition, Transaction
from model.variants import bug, version


@version("v2", in_force=kafka("4.2", LATEST), default=True)
class Transactions(AbstractTransactionsClaims):
    """Transaction version 2: each commit or abort raises the producer's epoch, and its markers
    carry the raised epoch.
    """


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


@version("v1", breaks="no_hanging_transaction", steps=6, in_force=kafka("0.11", "3.5"))
class Version1(LaxMarkers):
    """Before KIP-890: all transactions of a producer and all their markers have the same epoch.

    If a late record arrives after the marker of its transaction, it opens the transaction again,
    and no other marker ends the transaction. A late marker ends the producer's next transaction.
    The action `append` breaks the claim `no_hanging_transaction`, and `write_marker` breaks the
    claims `atomic` and `faithful`.
    """

    def may_end_under(s, x: Transaction, marker_epoch: ProducerEpoch) -> Bool:
        return s.current_epoch[s.producer[x]] == marker_epoch

    def ends_above_records(s, x: Transaction) -> Bool:
        return s.producer_epoch[x] <= s.marker_epoch[x]
