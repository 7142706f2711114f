"""The lemmas that make the claims of the spec `coordinator-abstract` inductive.

A *stamp* is a transactional id with a producer id and a producer epoch. The proof argues as
follows. The coordinator gives each stamp to one instance, and the instance begins one transaction
with this stamp. A commit or abort uses up the epochs from the transaction's epoch up to, but not
including, the epoch of its markers: no other stamp with this producer id has one of these epochs.
So partitions distinguish a transaction from earlier and later transactions by epochs alone.

The coordinator completes a transaction only after each partition has the marker. Only then does it
accept the next transaction. So all pending records of a producer id belong to the transaction of
the last record in the coordinator's log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from model.coordinator_abstract.log_lemmas import CoordinatorLogLemmas
from model.coordinator_abstract.state import (
    Instance,
    Metadata,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
    Transaction,
    TransactionalId,
)
from model.language import Bool, all_of, any_of, forall, implies, lemma, nothing

FOLLOW = {  # claim -> the claims from which it follows in every state
    "an_acknowledged_commit_stays": (
        "an_acknowledged_commit_is_decided",
        "a_decision_survives",
        "faithful",
    ),
}


class CoordinatorLemmas(CoordinatorLogLemmas):
    consequences: ClassVar[Mapping[str, tuple[str, ...]]] = FOLLOW

    # ---- stamps

    @lemma
    def producer_ids_are_assigned(s) -> Bool:
        """If a record, an instance or a transaction has a transactional id and a producer id, the
        producer id is assigned to the transactional id.
        """
        return all_of(
            forall(
                all_of(
                    implies(s.log[i].is_known, s.assigned[s.log[i].producer_id] == i),
                    implies(s.is_appending[i], s.assigned[s.appended[i].producer_id] == i),
                )
                for i in TransactionalId
            ),
            forall(
                implies(
                    s.is_ready[c], s.assigned[s.held[c].producer_id] == s.held[c].transactional_id
                )
                for c in Instance
            ),
            forall(
                implies(
                    s.begun[x], s.assigned[s.stamp[x].producer_id] == s.stamp[x].transactional_id
                )
                for x in Transaction
            ),
        )

    @lemma
    def unassigned_ids_are_unseen(s) -> Bool:
        """If a producer id is not assigned to a transactional id, no partition has seen an epoch of
        this producer id.
        """
        return forall(
            implies(s.assigned[p] == nothing, s.seen_epoch[t][p] == ProducerEpoch.least())
            for p in ProducerId
            for t in TopicPartition
        )

    @lemma
    def no_stamp_is_newer_than_the_log(s) -> Bool:
        """No transaction and no instance has a larger epoch of a producer id than the epoch in the
        coordinator's log.

        The lemma is true because an instance receives an epoch only after the log has this epoch.
        """
        return all_of(
            forall(
                implies(
                    all_of(
                        s.begun[x],
                        s.log[i].is_known,
                        s.stamp[x].producer_id == s.log[i].producer_id,
                    ),
                    s.stamp[x].producer_epoch <= s.log[i].producer_epoch,
                )
                for x in Transaction
                for i in TransactionalId
            ),
            forall(
                implies(
                    all_of(
                        s.is_ready[c],
                        s.log[i].is_known,
                        s.held[c].producer_id == s.log[i].producer_id,
                    ),
                    s.held[c].producer_epoch <= s.log[i].producer_epoch,
                )
                for c in Instance
                for i in TransactionalId
            ),
        )

    @lemma
    def the_log_has_no_last_epoch(s) -> Bool:
        """The producer epoch of each record in the coordinator's log is smaller than the largest
        possible epoch.

        The lemma is true because the coordinator changes the producer id when it reaches the
        largest epoch.
        """
        return forall(
            all_of(
                implies(s.log[i].is_known, s.log[i].producer_epoch < s.last_epoch),
                implies(
                    s.is_appending[i] & s.appended[i].is_known,
                    s.appended[i].producer_epoch < s.last_epoch,
                ),
            )
            for i in TransactionalId
        )

    def has_stamp(s, x: Transaction, p: ProducerId, e: ProducerEpoch) -> Bool:
        stamp = s.stamp[x]
        return all_of(s.begun[x], stamp.producer_id == p, stamp.producer_epoch == e)

    def holds(s, c: Instance, p: ProducerId, e: ProducerEpoch) -> Bool:
        held = s.held[c]
        return all_of(s.is_ready[c], held.producer_id == p, held.producer_epoch == e)

    @lemma
    def a_stamp_has_one_transaction(s) -> Bool:
        """No two transactions have the same producer id and epoch.

        The lemma is true because only one instance receives a producer id and epoch, and the
        instance begins only one transaction with them.
        """
        return forall(
            implies(
                s.begun[x] & s.has_stamp(y, s.stamp[x].producer_id, s.stamp[x].producer_epoch),
                x == y,
            )
            for x in Transaction
            for y in Transaction
        )

    @lemma
    def a_stamp_has_one_instance(s) -> Bool:
        """If an instance has the producer id and epoch of a transaction, this instance is the
        transaction's client.
        """
        return forall(
            implies(
                s.begun[x] & s.holds(c, s.stamp[x].producer_id, s.stamp[x].producer_epoch),
                s.client[x] == c,
            )
            for x in Transaction
            for c in Instance
        )

    @lemma
    def the_next_stamp_is_the_clients(s) -> Bool:
        """If the log's record commits or aborts a transaction, at most one instance has the
        record's producer id and epoch: the instance that may have requested the commit or abort.

        The record's producer id and epoch already belong to the next transaction. The lemma is true
        because only the response to a request to end this transaction carries them.
        """
        return forall(
            implies(
                s.has_decision(s.log[i]),
                all_of(
                    forall(
                        implies(
                            s.holds(c, s.log[i].producer_id, s.log[i].producer_epoch),
                            s.has_ended(s.log[i], c),
                        )
                        for c in Instance
                    ),
                    forall(
                        implies(
                            s.has_stamp(y, s.log[i].producer_id, s.log[i].producer_epoch),
                            s.has_ended(s.log[i], s.client[y]),
                        )
                        for y in Transaction
                    ),
                ),
            )
            for i in TransactionalId
        )

    def has_ended(s, m: Metadata, c: Instance) -> Bool:
        """Returns True if the instance `c` is the client of the transaction that the record `m`
        commits or aborts.

        Only this instance may have requested the commit or abort.
        """
        return s.client[m.transaction] == c

    # ---- decisions

    @lemma
    def requests_are_of_begun_transactions(s) -> Bool:
        """A client requests the commit or the abort of a begun transaction, but never both.

        A client receives a response only after its request.
        """
        return forall(
            all_of(
                ~(s.commit_requested[x] & s.abort_requested[x]),
                implies(s.commit_requested[x] | s.abort_requested[x], s.begun[x]),
                implies(s.confirmed[x], s.commit_requested[x] | s.abort_requested[x]),
            )
            for x in Transaction
        )

    @lemma
    def an_acknowledged_commit_is_decided(s) -> Bool:
        """If a client has received the response that its transaction is committed, the coordinator
        has committed this transaction.
        """
        return forall(
            implies(s.confirmed[x] & s.commit_requested[x], s.committed[x]) for x in Transaction
        )

    @lemma
    def a_decision_raises_the_epoch(s) -> Bool:
        """The markers of a transaction have a larger epoch than the records of the transaction.

        While the coordinator's log has the transaction's producer id, the epoch in the log is at
        least the epoch of the markers. The epoch of a later transaction with the same producer id
        is at least the epoch of the markers, too (`is_below_a_later_transaction`).
        """
        return forall(
            implies(
                s.decided(x),
                all_of(
                    s.begun[x],
                    s.stamp[x].producer_epoch < s.marker_epoch[x],
                    implies(
                        s.metadata_of(x).is_known
                        & (s.metadata_of(x).producer_id == s.stamp[x].producer_id),
                        s.marker_epoch[x] <= s.metadata_of(x).producer_epoch,
                    ),
                    s.is_below_a_later_transaction(x),
                ),
            )
            for x in Transaction
        )

    def is_below_a_later_transaction(s, x: Transaction) -> Bool:
        """Returns True if the markers of `x` have an epoch that is at most the epoch of a later
        transaction in the log. Also returns True if the log has no later transaction.

        The later transaction is another transaction than `x`, with the producer id of `x`, which
        the last committed record in the log commits or aborts. Its epoch is the epoch before this
        commit or abort (`last_epoch`).
        """
        return implies(
            all_of(
                s.has_decision(s.metadata_of(x)),
                s.metadata_of(x).transaction != x,
                s.metadata_of(x).last_id == s.stamp[x].producer_id,
            ),
            s.marker_epoch[x] <= s.metadata_of(x).last_epoch,
        )

    @lemma
    def no_transaction_is_between(s) -> Bool:
        """If a committed or aborted transaction has the epoch `a`, and its markers have the epoch
        `b`, no other transaction of its producer id has an epoch `e` with `a <= e < b`.

        The lemma is true because the log goes directly from the transaction's epoch to the epoch of
        the markers, or to another producer id.
        """
        return forall(
            implies(
                all_of(
                    s.decided(x),
                    s.begun[y],
                    x != y,
                    s.stamp[x].producer_id == s.stamp[y].producer_id,
                ),
                any_of(
                    s.stamp[y].producer_epoch < s.stamp[x].producer_epoch,
                    s.marker_epoch[x] <= s.stamp[y].producer_epoch,
                ),
            )
            for x in Transaction
            for y in Transaction
        )

    @lemma
    def no_instance_is_between(s) -> Bool:
        """If a committed or aborted transaction has the epoch `a`, and its markers have the epoch
        `b`, no instance with its producer id has an epoch `e` with `a < e < b`.

        The lemma is true because the epoch of each instance was in the log, and the log never had
        such an epoch `e`.
        """
        return forall(
            implies(
                all_of(
                    s.decided(x), s.is_ready[c], s.held[c].producer_id == s.stamp[x].producer_id
                ),
                any_of(
                    s.held[c].producer_epoch <= s.stamp[x].producer_epoch,
                    s.marker_epoch[x] <= s.held[c].producer_epoch,
                ),
            )
            for x in Transaction
            for c in Instance
        )
