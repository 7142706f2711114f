"""The lemmas about instances and offsets that prove the version `with-late-requests`.

A *current reader* of a partition is an instance that reads it and knows the newest generation. It
is *live* if it has the newest epoch of its transactional id, or will receive this epoch in the
response to its commit. A transaction *may still commit* if it is committed, if its client has
requested the commit, or if an instance has its epoch.

The proof argues as follows. A current reader began at the committed offset, when no offset was
pending. The group coordinator accepts an offset only with the newest generation, in which this
reader is the partition's only owner. So no other transaction with a pending offset of this
partition may still commit. An offset that arrives late is either refused, or belongs to a
transaction that no client commits. A client requests a commit only after all its requests have
arrived. So a late record never joins a committed transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from model.language import Bool, all_of, any_of, forall, iff, implies, lemma
from model.pipeline_abstract.late_lemmas import EpochLemmas
from model.pipeline_abstract.slices import SLICES
from model.pipeline_abstract.state import Instance, Offset, TopicPartition, TransactionalId


class LateRequestsProof(EpochLemmas):
    using: ClassVar[Mapping[tuple[str, str], tuple[str, ...]]] = SLICES  # (action, claim) -> lemmas

    # ---- what an instance has sent

    @lemma
    def sent_is_below_position(s) -> Bool:
        """An instance has sent output records with its present epoch only for inputs below its
        position. If it has sent an offset, this offset is its position.
        """
        return all_of(
            forall(
                implies(
                    (s.uses[i] == x) & s.sent[x][s.held_epoch[i]][p][o],
                    s.reads[i][p] & (o < s.position[i][p]),
                )
                for i in Instance
                for x in TransactionalId
                for p in TopicPartition
                for o in Offset
            ),
            forall(
                implies(
                    (s.uses[i] == x) & s.offset_sent[x][s.held_epoch[i]][p],
                    all_of(
                        s.reads[i][p],
                        s.sent_offset[x][s.held_epoch[i]][p] == s.position[i][p],
                        s.sent_generation[x][s.held_epoch[i]][p] == s.known_generation[i],
                    ),
                )
                for i in Instance
                for x in TransactionalId
                for p in TopicPartition
            ),
        )

    # ---- pending offsets

    def is_committing(s, x: TransactionalId) -> Bool:
        """Returns True if the transaction of `x` is committed, or is ongoing and its client has
        requested the commit.
        """
        return s.committed[x] | (s.ongoing[x] & s.commit_requested[x][s.newest_epoch[x]])

    def has_client(s, x: TransactionalId, i: Instance) -> Bool:
        """Returns True if the transaction of `x` is ongoing, and the instance `i` has the epoch of
        this transaction.
        """
        return s.ongoing[x] & s.may_use(i, x)

    @lemma
    def one_offset_is_pending(s) -> Bool:
        """For each partition, at most one transaction with a pending offset may still commit."""
        return all_of(
            forall(
                implies(
                    all_of(
                        s.pending[x][p], s.pending[y][p], s.is_committing(x), s.is_committing(y)
                    ),
                    x == y,
                )
                for p in TopicPartition
                for x in TransactionalId
                for y in TransactionalId
            ),
            forall(
                implies(
                    all_of(
                        s.pending[x][p], s.pending[y][p], s.is_committing(x), s.has_client(y, j)
                    ),
                    x == y,
                )
                for p in TopicPartition
                for x in TransactionalId
                for y in TransactionalId
                for j in Instance
            ),
            forall(
                implies(
                    all_of(
                        s.pending[x][p], s.pending[y][p], s.has_client(x, i), s.has_client(y, j)
                    ),
                    x == y,
                )
                for p in TopicPartition
                for x in TransactionalId
                for y in TransactionalId
                for i in Instance
                for j in Instance
            ),
        )

    @lemma
    def pending_offsets_match_effects(s) -> Bool:
        """Suppose that a transaction has a pending offset and may still commit. While it is
        ongoing, its client has sent exactly the output records of the inputs from the committed
        offset up to the pending offset.

        After the commit, each output record of the transaction that awaits a marker belongs to an
        input between these two offsets.
        """
        return all_of(
            forall(
                implies(
                    s.pending[x][p] & s.is_committing(x),
                    s.committed_offset[p] <= s.pending_offset[x][p],
                )
                for x in TransactionalId
                for p in TopicPartition
            ),
            forall(
                implies(
                    s.pending[x][p] & s.has_client(x, i),
                    s.committed_offset[p] <= s.pending_offset[x][p],
                )
                for i in Instance
                for x in TransactionalId
                for p in TopicPartition
            ),
            forall(
                implies(
                    s.pending[x][p] & s.is_committing(x),
                    all_of(
                        implies(s.ongoing[x], s.has_sent_between(x, p, o)),
                        implies(s.committed[x] & s.written[x][p][o], s.is_between(x, p, o)),
                    ),
                )
                for x in TransactionalId
                for p in TopicPartition
                for o in Offset
            ),
            forall(
                implies(s.pending[x][p] & s.has_client(x, i), s.has_sent_between(x, p, o))
                for i in Instance
                for x in TransactionalId
                for p in TopicPartition
                for o in Offset
            ),
        )

    def has_sent_between(s, x: TransactionalId, p: TopicPartition, o: Offset) -> Bool:
        return iff(s.sent[x][s.transaction_epoch[x]][p][o], s.is_between(x, p, o))

    # ---- live current readers

    def is_live(s, i: Instance, x: TransactionalId) -> Bool:
        e = s.held_epoch[i]
        return all_of(
            s.uses[i] == x,
            any_of(
                s.is_newest(i, x),
                s.committed_at[x][e] & (s.marker_epoch[x][e] == s.newest_epoch[x]),
            ),
        )

    @lemma
    def only_the_reader_sends_offsets(s) -> Bool:
        """Suppose that an ongoing transaction has a pending offset of a partition that has a
        current reader. Then only this reader may have the epoch of the transaction.
        """
        return forall(
            implies(
                all_of(s.is_current_reader(i, p), s.pending[x][p], s.ongoing[x], s.may_use(j, x)),
                i == j,
            )
            for i in Instance
            for j in Instance
            for x in TransactionalId
            for p in TopicPartition
        )

    @lemma
    def only_the_reader_commits(s) -> Bool:
        """Suppose that a partition has a live current reader, and that a transaction has a pending
        offset of this partition. If the transaction is committed, or its client has requested the
        commit, it is the reader's own transaction.

        This pending offset is not above the reader's position.
        """
        return forall(
            implies(
                all_of(
                    s.is_current_reader(i, p),
                    s.is_live(i, x),
                    s.pending[y][p],
                    s.is_committing(y),
                ),
                (x == y) & (s.pending_offset[y][p] <= s.position[i][p]),
            )
            for i in Instance
            for x in TransactionalId
            for y in TransactionalId
            for p in TopicPartition
        )

    @lemma
    def readers_begin_at_the_committed_offset(s) -> Bool:
        """The position of a live current reader is not below the committed offset. The reader has
        sent no output record with the newest epoch for an input below the committed position.
        """
        return all_of(
            forall(
                implies(
                    s.is_current_reader(i, p) & s.is_live(i, x),
                    s.committed_offset[p] <= s.position[i][p],
                )
                for i in Instance
                for x in TransactionalId
                for p in TopicPartition
            ),
            forall(
                implies(
                    all_of(
                        s.is_current_reader(i, p), s.is_live(i, x), s.is_in_transaction(i, x, p, o)
                    ),
                    ~s.is_below_position(p, o),
                )
                for i in Instance
                for x in TransactionalId
                for p in TopicPartition
                for o in Offset
            ),
        )

    @lemma
    def readers_skip_nothing(s) -> Bool:
        """If an input is below the position of a live current reader, there are two cases. Either
        the input is below the committed position, or the reader has sent the input's output record
        with the newest epoch.
        """
        return forall(
            implies(
                all_of(s.is_current_reader(i, p), s.is_live(i, x), o < s.position[i][p]),
                s.is_below_position(p, o) | s.is_in_transaction(i, x, p, o),
            )
            for i in Instance
            for x in TransactionalId
            for p in TopicPartition
            for o in Offset
        )

    def is_in_transaction(s, i: Instance, x: TransactionalId, p: TopicPartition, o: Offset) -> Bool:
        """Returns True if the instance `i` has the newest epoch of `x`, and has sent the output
        record of the input at `o` with this epoch.
        """
        return s.is_newest(i, x) & s.sent[x][s.held_epoch[i]][p][o]
