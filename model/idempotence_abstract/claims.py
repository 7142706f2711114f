"""DOC idempotence_abstract claims"""

from __future__ import annotations

from model.idempotence_abstract.actions import AbstractIdempotenceActions
from model.idempotence_abstract.state import Offset, Producer, ProducerEpoch, Sequence
from model.language import Bool, all_of, exists, forall, implies, invariant, lemma, witness


class AbstractIdempotenceClaims(AbstractIdempotenceActions):
    """DOC AbstractIdempotenceClaims"""

    # ---- what is claimed

    @invariant
    def in_order_without_duplicates(s) -> Bool:
        """Records of a producer epoch are in the log in the order of their sequences, each once."""
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
        """Before a record, the log holds the one with the sequence before."""
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
        """After a record of a new instance comes none of an older one."""
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
        """What was acknowledged is in the log, and committed."""
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

    # ---- what must be possible

    @witness
    def a_session_goes_on(s) -> Bool:
        """A record is acknowledged that is not the first of its producer epoch."""
        return exists(
            s.acked[p][e][q] & (Sequence.least() < q)
            for p in Producer
            for e in ProducerEpoch
            for q in Sequence
        )

    @witness
    def a_new_instance_writes(s) -> Bool:
        """The log holds records of two instances of a producer."""
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
        """Behind the end lies a record of a newer instance than one that the log still holds."""
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

    # ---- why it is true

    @lemma
    def committed_is_written(s) -> Bool:
        """The high watermark is within the log.

        True because it advances no further than the end, and a new leader has what is committed.
        """
        return s.high_watermark <= s.end_offset
