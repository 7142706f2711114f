"""Bugs of clients: of one that was fenced, and of one that continues after an error.

Source: the issues of Apache Kafka and librdkafka that each class names.
"""

from __future__ import annotations

from model.language import (
    Bool,
    action,
    false,
    nothing,
    true,
    when,
)
from model.releases import LATEST, InForce, kafka
from model.transactions.aborts import AbortAndContinue
from model.transactions.fences import TWO_INSTANCES, StrictFence
from model.transactions.state import (
    COMPLETE,
    DEAD,
    EMPTY,
    QUIET,
    Instance,
    ProducerEpoch,
    Transaction,
)
from model.transactions.versions import Transactions, Version1
from model.variants import bug


@bug(
    "returns-after-expiry",
    breaks="zombies_write_nothing",
    steps=9,
    at={**QUIET, "ids_expire": True, "instances": 2, "transactions": 1},
    issue="KAFKA-18019",
    in_force=kafka(None, "3.9"),
)
class ReturnsAfterExpiry(Transactions):
    """An instance whose transactional id has expired asks for a producer id again, and receives
    one.

    The old instance does not know that a newer instance has replaced it. It should close when it
    receives INVALID_PRODUCER_ID_MAPPING (KAFKA-18019). Since Kafka 4.0, the Java client closes;
    the coordinator of Kafka 4.3 still gives it another producer id.
    """

    @action
    def init_again(s, i: Instance) -> None:
        """A client whose transactional id has expired receives another producer id.

        Kafka: TransactionCoordinator.handleInitProducerId.
        Simplified: the request and the response are one step.
        """
        unused = s.take_producer_id(true)
        when(
            s.metadata.state == DEAD,
            ~s.is_busy(),
            s.producer[i].producer_id != nothing,
            s.producer[i].error == nothing,
        )
        s.write(s.idle(EMPTY, unused, ProducerEpoch(0)), answering=i)


@bug(
    "bumps-in-mid-transaction",
    breaks="a_commit_is_whole",
    steps=12,
    at={**QUIET, "partitions": 2},
    fixed_by="v1",
    issue="librdkafka 3575",
    in_force=InForce(of="librdkafka"),
)
class BumpsInMidTransaction(Version1):
    """A client whose record was refused moves to a new epoch and continues its transaction.

    The coordinator has aborted the earlier records of the transaction, and the client commits only
    the remaining records (librdkafka 3575).
    """

    @action
    def bump(s, k: Transaction, i: Instance) -> None:
        """A fenced client sends InitProducerId, and receives the next epoch.

        Kafka: TransactionCoordinator.handleInitProducerId.
        Simplified: the client does so only while the producer id has unused epochs.
        """
        m = s.metadata
        when(
            s.owner[k] == i,
            s.is_waiting(k),
            m.state == COMPLETE,
            m.transaction == k,
            ~s.is_current(k),
            m.producer_epoch <= s.max_epoch,
        )
        s.stamp[k].producer_epoch = m.producer_epoch
        s.producer[i].producer_epoch = m.producer_epoch


@bug(
    "fence-looks-like-an-end",
    breaks="the_fenced_get_no_epoch",
    steps=8,
    at=TWO_INSTANCES,
    fixed_by="strict-fence",
    issue="KAFKA-19367",
    in_force=kafka("4.0", LATEST, "since 4.0.1; reproduced on a real broker of 4.3"),
)
class FenceLooksLikeAnEnd(StrictFence):
    """A late EndTxn of a fenced instance looks like a retry, so the instance receives the new
    epoch.

    A fence raises the epoch, as every end of a transaction does. If the old instance requests an
    abort after the fence, the coordinator treats the request as a retry, and answers with the new
    epoch. The old instance may then begin its next transaction before the new instance receives an
    epoch. The new instance must fence again, and may wait for ever.
    """

    def is_barred(s, k: Transaction) -> Bool:
        return false


@bug(
    "keeps-epoch-after-abort",
    breaks="no_hanging_transaction",
    steps=12,
    at={**QUIET, "records_late": True},
    fixed_by="kip-360-v1",
    issue="KAFKA-8805",
    in_force=kafka("3.6", "3.9", needs="a client of Kafka 2.4 or older"),
)
class KeepsEpochAfterAbort(AbortAndContinue):
    """A client begins the next transaction under the epoch of the aborted transaction.

    A late record of the aborted transaction arrives during the next transaction. The coordinator
    confirms the record's epoch, so the leader appends the record to the next transaction. If the
    next transaction is committed, the record is committed too (KAFKA-8805).
    """

    def has_next_epoch(s, k: Transaction, i: Instance) -> Bool:
        return true
