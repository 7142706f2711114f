"""The versions `v2` and `v1` of the spec `transactions-abstract`. The version `topic-ids` has its
own file.

- `v2`: `transaction.version` 2 (KIP-890), the default.
- `v1`: the protocol before KIP-890.

Source: KIP-98; KIP-890; KIP-1228.
"""

from __future__ import annotations

from model.language import Bool
from model.releases import LATEST, kafka
from model.transactions_abstract.claims import AbstractTransactionsClaims
from model.transactions_abstract.state import ProducerEpoch, TopicPartition, Transaction
from model.variants import version


@version("v2", in_force=kafka("4.2", LATEST), default=True)
class Transactions(AbstractTransactionsClaims):
    """Transaction version 2: each commit or abort raises the producer's epoch, and its markers
    carry the raised epoch.
    """


@version("v1", breaks="no_hanging_transaction", steps=6, in_force=kafka("0.11", "3.5"))
class Version1(Transactions):
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

    def accepts_marker(s, t: TopicPartition, x: Transaction) -> Bool:
        return s.seen_epoch[t][s.producer[x]] <= s.marker_epoch[x]
