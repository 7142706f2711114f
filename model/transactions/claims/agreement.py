"""The claims about agreement between the coordinator and partitions, and about the fencing of old
instances.

Source: KIP-98; KIP-890; KIP-1228; TransactionState of Apache Kafka.
"""

from __future__ import annotations

from typing import Self

from model.language import (
    Bool,
    action_property,
    all_of,
    any_of,
    exists,
    forall,
    implies,
    invariant,
    nothing,
)
from model.transactions.actions.clients import Clients
from model.transactions.state import (
    ABORT,
    COMMIT,
    COMPLETE,
    DEAD,
    EMPTY,
    ONGOING,
    PREPARE,
    Instance,
    Offset,
    Outcome,
    TopicPartition,
    Transaction,
)

FOLLOWS = (  # state of a transactional id, and a state that may follow
    (DEAD, EMPTY), (EMPTY, EMPTY), (EMPTY, ONGOING), (EMPTY, PREPARE), (EMPTY, DEAD),
    (ONGOING, ONGOING), (ONGOING, PREPARE), (PREPARE, COMPLETE), (COMPLETE, EMPTY),
    (COMPLETE, ONGOING), (COMPLETE, PREPARE), (COMPLETE, DEAD),
)  # fmt: skip


class Agreement(Clients):
    """Claims about agreement and fencing, and predicates that other claims use."""

    # ---- predicates

    def closed_as(s, p: TopicPartition, o: Offset, outcome: Outcome) -> Bool:
        """Returns True if the transaction of the record at the offset `o` is closed with the
        outcome `outcome`. The producer's first marker after the record determines the outcome.
        """
        return exists(
            all_of(
                s.closes(p, m, o),
                s.log[p].record[m].outcome == outcome,
            )
            for m in Offset
        )

    def closes(s, p: TopicPartition, m: Offset, o: Offset) -> Bool:
        """Returns True if the marker at the offset `m` closes the transaction of the record at the
        offset `o`. The producer's first marker after the record closes the transaction.
        """
        return all_of(
            o < m,
            s.is_marker(p, m),
            s.is_record(p, o),
            s.is_of(p, m, s.log[p].record[o].producer_id),
            ~s.is_closed_below(p, o, m),
        )

    def is_in(s, p: TopicPartition, o: Offset, k: Transaction) -> Bool:
        return s.is_record(p, o) & (s.log[p].record[o].transaction == k)

    # ---- partitions and the coordinator agree

    @invariant
    def atomic(s) -> Bool:
        """No transaction is committed on one partition and aborted on another."""
        return forall(
            ~all_of(
                s.is_in(p, o, k),
                s.is_in(q, r, k),
                s.closed_as(p, o, COMMIT),
                s.closed_as(q, r, ABORT),
            )
            for k in Transaction
            for p in TopicPartition
            for q in TopicPartition
            for o in Offset
            for r in Offset
        )

    @invariant
    def markers_close_their_own(s) -> Bool:
        """A marker commits or aborts only records of its own transaction."""
        return forall(
            implies(
                s.closes(p, m, o),
                s.log[p].record[m].transaction == s.log[p].record[o].transaction,
            )
            for p in TopicPartition
            for m in Offset
            for o in Offset
        )

    @invariant
    def no_hanging_transaction(s) -> Bool:
        """If a transaction is open in a partition, the coordinator knows this and will end the
        transaction.
        """
        m = s.metadata
        return forall(
            implies(
                s.is_open(p, o) & s.is_in(p, o, k),
                all_of(
                    (m.state == ONGOING) | (m.state == PREPARE),
                    m.transaction == k,
                    m.partitions[p],
                ),
            )
            for p in TopicPartition
            for o in Offset
            for k in Transaction
        )

    @invariant
    def markers_are_accepted(s) -> Bool:
        """After the coordinator has prepared a commit or abort, each partition of the transaction
        accepts the marker, unless the partition has the marker already.
        """
        m, stamp = s.metadata, s.marker_stamp[s.metadata.transaction]
        return forall(
            implies(
                (m.state == PREPARE)
                & ~s.has_marker(p, m.transaction, s.coordinator_epoch, s.log[p].end_offset),
                s.accepts_marker(p, stamp.producer_id, stamp.producer_epoch),
            )
            for p in m.partitions
        )

    @invariant
    def added_partitions_are_confirmed(s) -> Bool:
        """If the coordinator has added a partition to an ongoing transaction, it confirms this to
        the partition's leader on request.
        """
        return forall(
            implies(s.has_added(k, p), s.vouches(k, p)) for k in Transaction for p in TopicPartition
        )

    @action_property
    def decisions_are_final(s, after: Self) -> Bool:
        """After the coordinator has prepared to commit or abort a transaction, this decision never
        changes.
        """
        return forall(
            implies(s.decided[k] != nothing, after.decided[k] == s.decided[k]) for k in Transaction
        )

    @action_property
    def states_follow_the_table(s, after: Self) -> Bool:
        """The transactional id's state in the coordinator's log changes only as Kafka's table of
        transitions allows.
        """
        before, then = s.transaction_state.committed, after.transaction_state.committed
        unchanged = before.state == then.state
        return unchanged | any_of(*((before.state == a) & (then.state == b) for a, b in FOLLOWS))

    @invariant
    def metadata_is_the_log(s) -> Bool:
        """The coordinator's metadata always equals the latest committed record of its log."""
        return s.metadata == s.transaction_state.committed

    # ---- fencing

    @action_property
    def zombies_write_nothing(s, after: Self) -> Bool:
        """After an instance has received a producer id, no partition appends a record of an older
        instance.
        """
        return forall(
            implies(
                all_of(
                    after.has_record(p, k),
                    ~s.has_record(p, k),
                    s.owner[k] == i,
                    s.producer[j].producer_id != nothing,
                ),
                j <= i,
            )
            for p in TopicPartition
            for k in Transaction
            for i in Instance
            for j in Instance
        )

    @invariant
    def no_two_instances_are_one(s) -> Bool:
        """No two instances have the same producer id and the same producer epoch."""
        return forall(
            implies(
                all_of(
                    i < j,
                    s.producer[i].producer_id != nothing,
                    s.producer[i].producer_id == s.producer[j].producer_id,
                ),
                s.producer[i].producer_epoch != s.producer[j].producer_epoch,
            )
            for i in Instance
            for j in Instance
        )

    @invariant
    def epochs_do_not_go_back(s) -> Bool:
        """In every partition's log, the epochs of a producer id never decrease."""
        return forall(
            implies(
                all_of(a < b, s.is_of(p, b, s.log[p].record[a].producer_id)),
                s.log[p].record[a].producer_epoch <= s.log[p].record[b].producer_epoch,
            )
            for p in TopicPartition
            for a in Offset
            for b in Offset
        )

    @invariant
    def coordinator_epochs_do_not_go_back(s) -> Bool:
        """In every partition's log, the coordinator epochs of the markers of a producer id never
        decrease.
        """
        return forall(
            implies(
                all_of(
                    a < b,
                    s.is_marker(p, a),
                    s.is_marker(p, b),
                    s.is_of(p, b, s.log[p].record[a].producer_id),
                ),
                s.log[p].record[a].coordinator_epoch <= s.log[p].record[b].coordinator_epoch,
            )
            for p in TopicPartition
            for a in Offset
            for b in Offset
        )

    @invariant
    def epochs_stay_in_range(s) -> Bool:
        """No producer epoch exceeds the maximum of 32767, and no client receives this maximum.

        Markers may carry the maximum. The constant `max_epoch` of the spec stands for 32767.
        """
        return all_of(
            s.metadata.producer_epoch <= s.max_epoch,
            forall(s.producer[i].producer_epoch < s.max_epoch for i in Instance),
        )
