"""The claims about abstract retention, and the lemmas that their proof needs.

The proof compares logs only at offsets at or after both log starts. At these offsets, a follower
that has truncated its log agrees with the leader. Below the leader's log start, the leader's log
has no records to compare. So before a follower joins the ISR, it must delete its records below the
leader's log start.
"""

from __future__ import annotations

from model.language import (
    Bool,
    all_of,
    exists,
    forall,
    implies,
    invariant,
    lemma,
    witness,
)
from model.retention_abstract.actions import AbstractRetentionActions
from model.retention_abstract.state import Offset, Replica


class AbstractRetentionClaims(AbstractRetentionActions):
    # ---- claims

    @invariant
    def committed_records_are_kept(s) -> Bool:
        """Every member of the ISR and of the ELR has each committed record, and no other record at
        its offset. The only exceptions are records below the member's log start.
        """
        return forall(
            implies(
                all_of(s.is_eligible(r), x < s.true_high_watermark, s.log[r].log_start <= x),
                (x < s.log[r].end_offset) & (s.log[r].leader_epoch[x] == s.committed[x]),
            )
            for r in Replica
            for x in Offset
        )

    @invariant
    def an_offset_has_one_record(s) -> Bool:
        """All replicas, and all leaders over time, have the same record at an offset below their
        high watermark. The only exceptions are records below the replica's log start.
        """
        return forall(
            implies(
                s.log[r].has_offset(x) & (x < s.log[r].high_watermark),
                (x < s.true_high_watermark) & (s.log[r].leader_epoch[x] == s.committed[x]),
            )
            for r in Replica
            for x in Offset
        )

    @invariant
    def an_epoch_has_one_record(s) -> Bool:
        """No record has a later leader epoch than the newest leader. Each record of the newest
        leader epoch has an offset below the end of the leader's log.

        So no leader appends two records at one offset in its leader epoch. An offset and a leader
        epoch identify a record, in this spec and in Kafka.
        """
        return forall(
            implies(
                s.log[r].has_offset(x),
                all_of(
                    s.log[r].leader_epoch[x] <= s.leader_epoch,
                    implies(
                        s.log[r].leader_epoch[x] == s.leader_epoch,
                        x < s.log[s.leader].end_offset,
                    ),
                ),
            )
            for r in Replica
            for x in Offset
        )

    @invariant
    def latest_values_are_kept(s) -> Bool:
        """If compaction has removed a record from a replica's log, a later committed record has the
        same key.
        """
        return forall(
            implies(
                s.log[r].has_offset(x) & s.log[r].is_compacted[x],
                s.is_replaced(r, x),
            )
            for r in Replica
            for x in Offset
        )

    def is_replaced(s, r: Replica, x: Offset) -> Bool:
        """Returns True if the replica's record at `x` is committed, and a later committed record
        has the same key.
        """
        return all_of(
            x < s.true_high_watermark,
            s.log[r].leader_epoch[x] == s.committed[x],
            exists(
                all_of(
                    x < y,
                    y < s.true_high_watermark,
                    s.committed_key(y) == s.committed_key(x),
                )
                for y in Offset
            ),
        )

    @invariant
    def deleted_stays_deleted(s) -> Bool:
        """After a DeleteRecords request succeeds, the deleted records are below the log start of
        every replica that may be elected. So readers do not receive the records from any later
        leader.
        """
        return forall(implies(s.is_eligible(r), s.deleted <= s.log[r].log_start) for r in Replica)

    @invariant
    def log_start_is_committed(s) -> Bool:
        """On every replica, the log start is at most the high watermark, and the high watermark is
        at most the end offset.
        """
        return forall(
            all_of(
                s.log[r].log_start <= s.log[r].high_watermark,
                s.log[r].high_watermark <= s.log[r].end_offset,
            )
            for r in Replica
        )

    @invariant
    def log_starts_grow(s) -> Bool:
        """A replica's log start never decreases."""
        return forall(s.largest_start[r] <= s.log[r].log_start for r in Replica)

    # ---- witnesses

    @witness
    def a_follower_is_too_far_behind(s) -> Bool:
        """Reachable: the leader has deleted the next record that a follower must fetch."""
        return exists(
            s.is_following(r) & (s.log[r].end_offset < s.log[s.leader].log_start) for r in Replica
        )

    @witness
    def a_value_gave_way(s) -> Bool:
        """Reachable: compaction has removed a committed record from the leader's log, because a
        later record has the same key.
        """
        return exists(
            s.log[s.leader].has_offset(x) & s.log[s.leader].is_compacted[x] for x in Offset
        )

    @witness
    def records_are_deleted(s) -> Bool:
        """Reachable: a DeleteRecords request succeeded."""
        return exists(x < s.deleted for x in Offset)

    @witness
    def a_leader_lags_what_is_deleted(s) -> Bool:
        """Reachable: a new leader's high watermark is below a follower's log start."""
        return exists(s.log[s.leader].high_watermark < s.log[r].log_start for r in Replica)

    @witness
    def an_old_record_is_below_the_log_start(s) -> Bool:
        """Reachable: a follower has a record below the leader's log start, and another record was
        committed at its offset.
        """
        return exists(
            all_of(
                s.is_following(r),
                s.log[r].has_offset(x),
                x < s.log[s.leader].log_start,
                s.log[r].leader_epoch[x] != s.committed[x],
            )
            for r in Replica
            for x in Offset
        )

    # ---- lemmas

    @lemma
    def leaders_are_in_sync(s) -> Bool:
        """The leader is in the ISR."""
        return s.isr[s.leader]

    @lemma
    def no_replica_is_ahead(s) -> Bool:
        """No replica is in a later leader epoch than the newest leader."""
        return forall(s.epoch[r] <= s.leader_epoch for r in Replica)

    @lemma
    def high_watermarks_are_committed(s) -> Bool:
        """Consider the largest high watermark that a leader has had. No replica has a larger one,
        and no log of a member of the ISR or of the ELR ends below it.
        """
        return forall(
            all_of(
                s.log[r].high_watermark <= s.true_high_watermark,
                implies(s.is_eligible(r), s.true_high_watermark <= s.log[r].end_offset),
            )
            for r in Replica
        )

    @lemma
    def followers_have_the_leaders_records(s) -> Bool:
        """A follower of the present leader epoch has the leader's records at the offsets at or
        after both log starts.
        """
        return forall(
            implies(
                all_of(s.is_following(r), s.is_in_both(r, x), x < s.log[r].end_offset),
                s.is_as_the_leaders(r, x),
            )
            for r in Replica
            for x in Offset
        )
