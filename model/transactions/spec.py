"""Transactions as Apache Kafka 4.2 has them: what is claimed of clients, coordinator, partitions.

`state.py` says what there is, `partitions.py`, `coordinator.py` and `clients.py` what each role
does; `versions.py` is the protocol as it was, `bugs.py` what went wrong with it.

Source: KIP-98; KIP-890; KIP-1228; Apache Kafka's design documentation on delivery semantics.
"""

from __future__ import annotations

from typing import Self

from model.language import (
    Bool,
    Temporal,
    action_property,
    all_of,
    any_of,
    exists,
    forall,
    implies,
    invariant,
    leads_to,
    liveness,
    nothing,
    witness,
)
from model.transactions.clients import Clients
from model.transactions.state import (
    ABORT,
    COMMIT,
    COMPLETE,
    DEAD,
    EMPTY,
    INVALID_TXN_STATE,
    ONGOING,
    PREPARE,
    Instance,
    Offset,
    Outcome,
    TopicPartition,
    Transaction,
)

FOLLOWS = (  # which state of a transactional id may follow which
    (DEAD, EMPTY), (EMPTY, EMPTY), (EMPTY, ONGOING), (EMPTY, PREPARE), (EMPTY, DEAD),
    (ONGOING, ONGOING), (ONGOING, PREPARE), (PREPARE, COMPLETE), (COMPLETE, EMPTY),
    (COMPLETE, ONGOING), (COMPLETE, PREPARE), (COMPLETE, DEAD),
)  # fmt: skip


class Transactions(Clients):
    """Version 2 with strict markers: an epoch for every transaction (KIP-890, KIP-1228)."""

    # ---- words

    def closed_as(s, p: TopicPartition, o: Offset, outcome: Outcome) -> Bool:
        """The first marker of its producer behind a record has this outcome."""
        return exists(
            all_of(
                s.closes(p, m, o),
                s.log[p].record[m].outcome == outcome,
            )
            for m in Offset
        )

    def closes(s, p: TopicPartition, m: Offset, o: Offset) -> Bool:
        """The marker is the first behind the record that is of its producer."""
        return all_of(
            o < m,
            s.is_marker(p, m),
            s.is_record(p, o),
            s.is_of(p, m, s.log[p].record[o].producer_id),
            ~s.is_closed_below(p, o, m),
        )

    def is_in(s, p: TopicPartition, o: Offset, k: Transaction) -> Bool:
        return s.is_record(p, o) & (s.log[p].record[o].transaction == k)

    # ---- what clients are promised

    @invariant
    def the_client_decides(s) -> Bool:
        """A transaction is committed only if its client asked for that."""
        return forall(implies(s.decided[k] == COMMIT, s.asked[k] == COMMIT) for k in Transaction)

    @invariant
    def told_is_true(s) -> Bool:
        """A client that was told of a commit, or of an abort, was told what was decided."""
        return forall(
            implies(
                s.told[k] & exists(s.sent[k][p] for p in TopicPartition), s.decided[k] == s.asked[k]
            )
            for k in Transaction
        )

    @invariant
    def a_commit_is_whole(s) -> Bool:
        """Of a transaction that its client knows committed, every record is there, none aborted."""
        return forall(
            implies(
                s.told[k] & (s.asked[k] == COMMIT),
                exists(s.is_in(p, o, k) & ~s.closed_as(p, o, ABORT) for o in Offset),
            )
            for k in Transaction
            for p in s.sent[k]
        )

    def may_be_fenced(s, i: Instance) -> Bool:
        """By a newer instance, by time, or because its transactional id was forgotten."""
        return any_of(
            exists((i < j) & (s.producer[j].producer_id != nothing) for j in Instance),
            exists(
                all_of(s.owner[k] == i, s.asked[k] == nothing, s.decided[k] == ABORT)
                for k in Transaction
            ),
            s.memory.state == DEAD,
        )

    @invariant
    def none_fences_itself(s) -> Bool:
        """An instance gives up only where another, or time, has fenced it."""
        return forall(implies(s.producer[i].error != nothing, s.may_be_fenced(i)) for i in Instance)

    @invariant
    def the_fenced_are_told_so(s) -> Bool:
        """A producer with an old epoch is told that, not that its transaction is in disorder."""
        return forall(s.producer[i].error != INVALID_TXN_STATE for i in Instance)

    # ---- what readers are promised

    @invariant
    def no_aborted_read(s) -> Bool:
        """A reader of committed data is given only records of committed transactions."""
        return forall(
            implies(s.is_read_committed(p, o) & s.is_in(p, o, k), s.decided[k] == COMMIT)
            for p in TopicPartition
            for o in Offset
            for k in Transaction
        )

    @invariant
    def aborted_index_is_exact(s) -> Bool:
        """Below the last stable offset, the index drops what was aborted and nothing else."""
        return forall(
            implies(
                s.is_in(p, o, k) & (o < s.last_stable_offset(p)),
                s.is_dropped(p, o) == (s.decided[k] == ABORT),
            )
            for p in TopicPartition
            for o in Offset
            for k in Transaction
        )

    @invariant
    def no_torn_read(s) -> Bool:
        """Readers of two partitions that have passed a transaction see all of it or nothing."""
        return forall(
            implies(
                all_of(
                    s.is_in(p, o, k),
                    s.is_in(q, r, k),
                    o < s.last_stable_offset(p),
                    r < s.last_stable_offset(q),
                ),
                s.is_read_committed(p, o) == s.is_read_committed(q, r),
            )
            for k in Transaction
            for p in TopicPartition
            for q in TopicPartition
            for o in Offset
            for r in Offset
        )

    @action_property
    def stable_offsets_do_not_go_back(s, after: Self) -> Bool:
        """The last stable offset of a partition never falls, whoever leads it."""
        return forall(
            s.last_stable_offset(p) <= after.last_stable_offset(p) for p in TopicPartition
        )

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
        """A marker closes only records of the transaction that it was decided for."""
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
        """What is open in a partition the coordinator knows of, and will end."""
        m = s.memory
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
        """A partition refuses no marker that the coordinator has not heard of: it would give up."""
        m = s.memory
        return forall(
            implies(
                (m.state == PREPARE)
                & ~s.has_marker(p, m.transaction, s.coordinator_epoch, s.log[p].end_offset),
                s.accepts_marker(p, m.producer_id, m.producer_epoch),
            )
            for p in m.partitions
        )

    @action_property
    def decisions_are_final(s, after: Self) -> Bool:
        """A transaction is decided once."""
        return forall(
            implies(s.decided[k] != nothing, after.decided[k] == s.decided[k]) for k in Transaction
        )

    @action_property
    def states_follow_the_table(s, after: Self) -> Bool:
        """The coordinator's log goes from state to state as the table says."""
        before, then = s.state_log.committed, after.state_log.committed
        unchanged = before.state == then.state
        return unchanged | any_of(*((before.state == a) & (then.state == b) for a, b in FOLLOWS))

    @invariant
    def memory_is_the_log(s) -> Bool:
        """What the coordinator answers from is the last committed record of its log."""
        return s.memory == s.state_log.committed

    # ---- fencing

    @action_property
    def zombies_write_nothing(s, after: Self) -> Bool:
        """Once a newer instance was answered, no record of an older one is appended anywhere."""
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
    def epochs_do_not_go_back(s) -> Bool:
        """In a log, after a record of a producer epoch comes none of a smaller one."""
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
        """In a log, after a coordinator's marker comes none of a coordinator before."""
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
        """The largest epoch is for markers alone: no client has it, and none is larger."""
        return all_of(
            s.memory.producer_epoch <= s.max_epoch,
            forall(s.producer[i].producer_epoch < s.max_epoch for i in Instance),
        )

    # ---- what must happen in the end

    @liveness
    def decisions_are_carried_out(s) -> Temporal:
        """What is decided is complete in the end."""
        return leads_to(s.memory.state == PREPARE, s.memory.state != PREPARE)

    @liveness
    def open_transactions_close(s, p: TopicPartition, o: Offset) -> Temporal:
        """A record does not hold back the last stable offset for ever."""
        return leads_to(s.is_open(p, o), ~s.is_open(p, o))

    # ---- what must be possible

    @witness
    def a_commit_is_read(s) -> Bool:
        """A reader of committed data is given a record."""
        return exists(s.is_read_committed(p, o) for p in TopicPartition for o in Offset)

    @witness
    def an_aborted_record_is_passed_over(s) -> Bool:
        """Only a reader of all data is given a record below the last stable offset."""
        return exists(
            all_of(
                o < s.last_stable_offset(p),
                s.is_read_uncommitted(p, o),
                ~s.is_read_committed(p, o),
            )
            for p in TopicPartition
            for o in Offset
        )

    @witness
    def epochs_ran_out(s) -> Bool:
        """The producer goes on under another id."""
        return s.memory.previous_id != s.memory.producer_id

    @witness
    def an_open_transaction_is_behind_the_decision(s) -> Bool:
        """A record waits for the marker of a decision that was taken."""
        return exists(
            s.is_open(p, o) & (s.memory.state == PREPARE) for p in TopicPartition for o in Offset
        )

    @witness
    def a_client_commits_again(s) -> Bool:
        """Two transactions of one client are committed, and it knows."""
        return exists(
            all_of(
                j < k,
                s.owner[j] == i,
                s.owner[k] == i,
                s.told[j] & (s.asked[j] == COMMIT),
                s.told[k] & (s.asked[k] == COMMIT),
            )
            for i in Instance
            for j in Transaction
            for k in Transaction
        )
