"""The actions of clients: a client begins a transaction, sends records, and requests to commit or
to abort.

A client repeats a request until it receives an answer. So two copies of a request may arrive. The
first copy may arrive long after the second copy was answered.

Source: KIP-98; KIP-890; KAFKA-18464.
Simplified: a client that receives an error closes. Only in the versions `kip-360` and `kip-360-v1`
may a client abort and continue after an error. A client that has requested to end a transaction
sends nothing more in this transaction, but earlier records may still be in flight.
"""

from __future__ import annotations

from model.language import (
    Bool,
    action,
    all_of,
    any_of,
    exists,
    first,
    forall,
    implies,
    ite,
    nothing,
    when,
)
from model.transactions.actions.markers import Markers
from model.transactions.state import (
    ABORT,
    COMPLETE,
    DEAD,
    FENCED,
    ONGOING,
    PREPARE,
    Instance,
    Offset,
    Outcome,
    ProducerEpoch,
    ProducerId,
    Stamp,
    TopicPartition,
    Transaction,
)


class Clients(Markers):
    @action
    def begin(s, k: Transaction, i: Instance) -> None:
        """A client begins a transaction, after it has learned how its previous transaction ended.
        The client sends no request.

        Kafka: TransactionManager.beginTransaction.
        Simplified: the transaction has the client's present producer id and epoch.

        Without the guard that the client knows how its previous transaction ended, the claim
        `answers_are_true` breaks in 10 steps.
        """
        when(
            s.is_next(k),
            s.producer[i].producer_id != nothing,
            s.producer[i].error == nothing,
            forall(implies(s.owner[j] == i, s.end_confirmed[j]) for j in Transaction),
        )
        s.owner[k] = i
        s.stamp[k] = s.stamp_of(i)

    def stamp_of(s, i: Instance) -> Stamp:
        own = s.producer[i]
        return Stamp(
            producer_id=first(ProducerId, lambda x: own.producer_id == x, default=ProducerId(0)),
            producer_epoch=own.producer_epoch,
        )

    def has_newest_epoch(s, i: Instance) -> Bool:
        m, own = s.metadata, s.producer[i]
        return (own.producer_id == m.producer_id) & (own.producer_epoch == m.producer_epoch)

    def may_send(s, p: TopicPartition, k: Transaction) -> Bool:
        """Returns True always. In transaction version 2, the client need not add the partition
        first: the partition's leader adds the partition when the record arrives.
        """
        return all_of()

    @action
    def send(s, p: TopicPartition, k: Transaction) -> None:
        """A client sends a record of its transaction to a partition.

        Kafka: KafkaProducer.send.
        Simplified: a transaction sends one record per partition. A retry is no separate action: the
        record may arrive as long as `is_in_flight` is true.

        Without the guard that the client has not requested to end the transaction yet, the claim
        `no_hanging_transaction` breaks in 8 steps.
        """
        when(s.is_waiting(k), ~s.sent[k][p], s.may_send(p, k))
        s.sent[k][p] = True

    def is_acknowledged(s, p: TopicPartition, k: Transaction) -> Bool:
        """Returns True if the transaction's record is in the partition's log below the high
        watermark. The leader then acknowledges the record to the client.
        """
        return exists(
            all_of(
                o < s.log[p].high_watermark,
                s.is_record(p, o),
                s.log[p].record[o].transaction == k,
            )
            for o in Offset
        )

    def may_ask(s, k: Transaction, outcome: Outcome) -> Bool:
        """Returns True if the client may request to end its open transaction. Before it requests a
        commit, all records of the transaction must be acknowledged.
        """
        acknowledged = forall(s.is_acknowledged(p, k) for p in s.sent[k])
        return s.is_waiting(k) & ((outcome == ABORT) | acknowledged)

    def may_ask_for_nothing(s, k: Transaction, outcome: Outcome) -> Bool:
        """Returns True if `outcome` is an abort, or if the transaction has a record. The client
        never requests to commit an empty transaction.
        """
        return (outcome == ABORT) | exists(s.sent[k][p] for p in TopicPartition)

    # ---- the coordinator's answers

    def may_end(s, k: Transaction, outcome: Outcome) -> Bool:
        """Returns True if the coordinator accepts the request to end the transaction.

        The producer id and epoch of the transaction must be current. A commit needs an open
        transaction. An abort needs only a transactional id that the coordinator knows.
        """
        state = s.metadata.state
        return s.is_current(k) & ((state == ONGOING) | ((state != DEAD) & (outcome == ABORT)))

    @action
    def end(s, k: Transaction, outcome: Outcome) -> None:
        """The coordinator commits or aborts a transaction, as the client of the transaction has
        requested.

        Kafka: TransactionCoordinator.handleEndTransaction.
        Simplified: this action also covers a late copy of the request.

        In transaction version 2, every commit or abort raises the epoch, so a late copy is refused.
        In transaction version 1, a late copy may end the next transaction, and the claim
        `the_client_decides` breaks (version `verification`, 10 steps; KAFKA-17754).
        """
        again = s.requested[k] == outcome
        if not s.ends_late:
            again = again & ~s.end_confirmed[k]
        asks = all_of(s.may_ask(k, outcome), s.may_ask_for_nothing(k, outcome))
        when(asks | again, ~s.is_busy(), s.may_end(k, outcome))
        s.requested[k] = outcome
        decided = ite(s.metadata.state == ONGOING, s.metadata.transaction, k)
        s.prepare(decided, outcome, s.epoch_of_decision(), s.ends_epochs())

    def is_decided_under(s, k: Transaction) -> Bool:
        """Returns True if the coordinator's newest commit or abort ended a transaction with the
        producer id and epoch of the transaction `k`.
        """
        return s.is_raised_from(s.stamp[k])

    def is_raised_from(s, stamp: Stamp) -> Bool:
        """Returns True if the coordinator's epoch is the result of a commit or abort by a client
        with the producer id and epoch `stamp`.

        The coordinator's epoch is then larger than the client's epoch by one. If the client's epoch
        was the largest one, the coordinator has another producer id, with epoch 0.
        """
        m = s.metadata
        return any_of(
            all_of(
                stamp.producer_id == m.producer_id, stamp.producer_epoch + 1 == m.producer_epoch
            ),
            all_of(
                m.previous_id == stamp.producer_id,
                s.is_exhausted(stamp.producer_epoch),
                m.producer_epoch == 0,
            ),
        )

    def is_done(s, k: Transaction, outcome: Outcome) -> Bool:
        """Returns True if the coordinator answers the client's EndTxn request (commit or abort)
        with success.

        The coordinator's newest decision must be `outcome`, for a transaction with the producer id
        and epoch of `k`. If this client requested the decision, the coordinator answers before the
        markers are written. After a fence (an abort by the coordinator itself), it answers when all
        markers are written.
        """
        m = s.metadata
        decides = (m.state == PREPARE) & (s.requested[k] == outcome)
        return all_of(m.outcome == outcome, (m.state == COMPLETE) | decides, s.is_decided_under(k))

    @action(fair="weak")
    def receive_end(s, k: Transaction, i: Instance, outcome: Outcome) -> None:
        """A client receives the answer that its transaction was committed or aborted, as the client
        has requested.

        The client also receives its new producer epoch.

        Kafka: EndTxnResponse v5 and TransactionManager.
        Simplified: if an answer is lost, the client learns the outcome in a later step.

        Without the guard `is_done`, the claim `answers_are_true` breaks in 5 steps.
        """
        when(
            s.owner[k] == i,
            s.producer[i].error == nothing,
            ~s.end_confirmed[k],
            (s.requested[k] == outcome) | s.may_ask(k, outcome),
            s.is_done(k, outcome),
        )
        s.requested[k] = outcome
        s.end_confirmed[k] = True
        s.take_next_epoch(i)

    def take_next_epoch(s, i: Instance) -> None:
        """Gives the instance its producer id and epoch after a commit or abort. If the producer id
        is a new one, the epoch is 0.
        """
        m = s.metadata
        s.producer[i].producer_id = m.next_id
        s.producer[i].producer_epoch = ite(
            m.next_id != m.producer_id, ProducerEpoch(0), m.producer_epoch
        )

    def is_known(s, k: Transaction) -> Bool:
        m = s.metadata
        return any_of(
            all_of(s.is_current(k), m.state != PREPARE, m.state != DEAD),
            all_of(s.is_decided_under(k), (m.state == PREPARE) | (m.state == COMPLETE)),
        )

    def is_turned_away(s) -> Bool:
        """Returns True if the coordinator is busy: an append to its log is not committed, or
        markers are not written yet. A busy coordinator answers that the client must send the
        request again.

        The coordinator checks this before it checks the producer id and epoch of the request.
        """
        return s.is_busy()

    @action
    def refuse_call(s, k: Transaction, i: Instance) -> None:
        """The coordinator refuses a client's request, because the producer id and epoch of the
        request are not current. The client closes.

        Kafka: PRODUCER_FENCED and INVALID_PRODUCER_ID_MAPPING.
        Simplified: the error is always fatal. A client may begin its next transaction at once, with
        its new epoch.

        A busy coordinator answers CONCURRENT_TRANSACTIONS before it compares epochs
        (`is_turned_away`). If it compares epochs first, the claim `no_instance_fences_itself`
        breaks (bug `epoch-before-pending`, 6 steps).
        """
        when(
            s.owner[k] == i,
            s.is_waiting(k),
            ~s.is_turned_away(),
            ~s.is_known(k),
        )
        s.producer[i].error = FENCED
