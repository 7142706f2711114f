"""The clients of a transactional id: instances that begin, send, and ask to commit or to abort.

A client asks again until it is answered, so a request may come twice, and its first copy long after
the answer to its second. A client commits when all that it sent was acknowledged.

Source: KIP-98; KIP-890; KAFKA-18464.
Simplified: an instance that is told of an error closes: it does not abort and go on. A client sends
nothing after it has asked to end a transaction, but what it sent before may be on its way.
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
from model.transactions.actions.coordinator import Coordinator
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
    TopicPartition,
    Transaction,
)


class Clients(Coordinator):
    """Transactions from their clients' side, by the rules of version 2."""

    @action
    def begin(s, k: Transaction, i: Instance) -> None:
        """A client begins a transaction, having heard how its last one ended; it tells nobody."""
        when(
            s.is_next(k),
            s.producer[i].producer_id != nothing,
            s.producer[i].error == nothing,
            forall(implies(s.owner[j] == i, s.end_confirmed[j]) for j in Transaction),
        )
        s.owner[k] = i
        s.stamp[k].producer_id = s.own_id(i)
        s.stamp[k].producer_epoch = s.producer[i].producer_epoch

    def own_id(s, i: Instance) -> ProducerId:
        return first(ProducerId, lambda x: s.producer[i].producer_id == x, default=ProducerId(0))

    def may_send(s, p: TopicPartition, k: Transaction) -> Bool:
        """Whether the coordinator must know of the partition first."""
        return all_of()

    @action
    def send(s, p: TopicPartition, k: Transaction) -> None:
        """A client sends a record to a partition."""
        when(s.is_waiting(k), ~s.sent[k][p], s.may_send(p, k))
        s.sent[k][p] = True

    def is_acknowledged(s, p: TopicPartition, k: Transaction) -> Bool:
        return exists(
            all_of(
                o < s.log[p].high_watermark,
                s.is_record(p, o),
                s.log[p].record[o].transaction == k,
            )
            for o in Offset
        )

    def may_ask(s, k: Transaction, outcome: Outcome) -> Bool:
        """The client is in the transaction; it commits when all that it sent was acknowledged."""
        acknowledged = forall(s.is_acknowledged(p, k) for p in s.sent[k])
        return s.is_waiting(k) & ((outcome == ABORT) | acknowledged)

    def may_ask_for_nothing(s, k: Transaction, outcome: Outcome) -> Bool:
        """A client that sent nothing does not commit; it may abort, to be sure."""
        return (outcome == ABORT) | exists(s.sent[k][p] for p in TopicPartition)

    # ---- how the coordinator answers

    def may_end(s, k: Transaction, outcome: Outcome) -> Bool:
        """The stamp is the latest, and there is something to end; an abort may end nothing."""
        state = s.metadata.state
        return s.is_current(k) & ((state == ONGOING) | ((state != DEAD) & (outcome == ABORT)))

    @action
    def end(s, k: Transaction, outcome: Outcome) -> None:
        """The coordinator decides what a client asked for: now, or in a copy long before."""
        again = s.requested[k] == outcome
        if not s.ends_late:
            again = again & ~s.end_confirmed[k]
        asks = all_of(s.may_ask(k, outcome), s.may_ask_for_nothing(k, outcome))
        when(asks | again, ~s.is_busy(), s.may_end(k, outcome))
        s.requested[k] = outcome
        decided = ite(s.metadata.state == ONGOING, s.metadata.transaction, k)
        s.prepare(decided, outcome, s.epoch_of_decision(), s.ends_epochs())

    def is_decided_under(s, k: Transaction) -> Bool:
        """The last decision was taken under the epoch of the transaction, and moved it on."""
        m, stamp = s.metadata, s.stamp[k]
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
        """EndTxn is answered: the call that decided once it has, any other when all is complete."""
        m = s.metadata
        decides = (m.state == PREPARE) & (s.requested[k] == outcome)
        return all_of(m.outcome == outcome, (m.state == COMPLETE) | decides, s.is_decided_under(k))

    @action(fair="weak")
    def hear_end(s, k: Transaction, i: Instance, outcome: Outcome) -> None:
        """A client hears that its transaction ended as it asked; it has a new epoch now."""
        m = s.metadata
        when(
            s.owner[k] == i,
            s.producer[i].error == nothing,
            ~s.end_confirmed[k],
            (s.requested[k] == outcome) | s.may_ask(k, outcome),
            s.is_done(k, outcome),
        )
        s.requested[k] = outcome
        s.end_confirmed[k] = True
        s.producer[i].producer_id = m.next_id
        s.producer[i].producer_epoch = ite(
            m.next_id != m.producer_id, ProducerEpoch(0), m.producer_epoch
        )

    def is_known(s, k: Transaction) -> Bool:
        """The stamp of the transaction passes the test of producer id and epoch."""
        m = s.metadata
        return any_of(
            all_of(s.is_current(k), m.state != PREPARE, m.state != DEAD),
            all_of(s.is_decided_under(k), (m.state == PREPARE) | (m.state == COMPLETE)),
        )

    def is_turned_away(s) -> Bool:
        """CONCURRENT_TRANSACTIONS comes before any test of producer id and epoch."""
        return s.is_busy()

    @action
    def refuse_call(s, k: Transaction, i: Instance) -> None:
        """The coordinator does not know the client's producer id and epoch; it gives up."""
        when(
            s.owner[k] == i,
            s.is_waiting(k),
            ~s.is_turned_away(),
            ~s.is_known(k),
        )
        s.producer[i].error = FENCED
