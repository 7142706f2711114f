"""The claims about the abstract idempotent producer, and the lemma that their proof needs."""

from __future__ import annotations

from model.idempotence_abstract.actions import AbstractIdempotenceActions
from model.idempotence_abstract.state import Offset, Producer, ProducerEpoch, Sequence
from model.language import Bool, all_of, exists, forall, implies, invariant, lemma, witness


class AbstractIdempotenceClaims(AbstractIdempotenceActions):
    # ---- claims

    @invariant
    def in_order_without_duplicates(s) -> Bool:
        """In the log, the records of each producer epoch are in the order of their sequences, and
        each sequence occurs at most once.
        """
        return forall(
            implies(
                all_of(a < b, b < s.end_offset, s.same_session(a, b)),
                s.stamp[a].sequence < s.stamp[b].sequence,
            )
            for a in Offset
            for b in Offset
        )

    @invariant
    def without_gaps(s) -> Bool:
        """If a record has a sequence n > 0, an earlier record of the same producer epoch has the
        sequence n - 1.
        """
        return forall(
            implies(
                (b < s.end_offset) & s.stamp[b].sequence.is_next_after(before),
                exists(
                    all_of(a < b, s.same_session(a, b), s.stamp[a].sequence == before)
                    for a in Offset
                ),
            )
            for b in Offset
            for before in Sequence
        )

    @invariant
    def epochs_do_not_go_back(s) -> Bool:
        """In the log, the epochs of a producer never decrease."""
        return forall(
            implies(
                all_of(a < b, b < s.end_offset, s.stamp[a].producer == s.stamp[b].producer),
                s.stamp[a].producer_epoch <= s.stamp[b].producer_epoch,
            )
            for a in Offset
            for b in Offset
        )

    @invariant
    def acknowledged_is_durable(s) -> Bool:
        """Every acknowledged record is in the log and committed."""
        return forall(
            implies(
                s.acked[p][e][q],
                exists(
                    all_of(
                        o < s.high_watermark,
                        s.stamp[o].producer == p,
                        s.stamp[o].producer_epoch == e,
                        s.stamp[o].sequence == q,
                    )
                    for o in Offset
                ),
            )
            for p in Producer
            for e in ProducerEpoch
            for q in Sequence
        )

    # ---- witnesses

    @witness
    def a_session_goes_on(s) -> Bool:
        """Reachable: a record is acknowledged that is not the first one of its producer epoch."""
        return exists(
            s.acked[p][e][q] & (Sequence.least() < q)
            for p in Producer
            for e in ProducerEpoch
            for q in Sequence
        )

    @witness
    def a_new_instance_writes(s) -> Bool:
        """Reachable: the log has a record of an old instance of a producer, and a record of a newer
        instance of the same producer.
        """
        return exists(
            all_of(
                s.holds(a, p),
                s.holds(b, p),
                s.stamp[a].producer_epoch < s.stamp[b].producer_epoch,
            )
            for p in Producer
            for a in Offset
            for b in Offset
        )

    @witness
    def a_newer_record_was_cut_off(s) -> Bool:
        """Reachable: the record of a newer instance of a producer was truncated, and a record of an
        older instance is still in the log.
        """
        return exists(
            all_of(
                a < s.end_offset,
                s.end_offset <= b,
                s.stamp[a].producer == s.stamp[b].producer,
                s.stamp[a].producer_epoch < s.stamp[b].producer_epoch,
            )
            for a in Offset
            for b in Offset
        )

    # ---- lemmas

    @lemma
    def committed_is_written(s) -> Bool:
        """The high watermark is at most the end of the log.

        The lemma is true because the high watermark grows at most to the end of the log, and a new
        leader has every committed record.
        """
        return s.high_watermark <= s.end_offset
