"""The claims about retention: deleted records stay deleted, and all other committed records are
kept.
"""

from __future__ import annotations

from typing import Self

from model.language import (
    Bool,
    action_property,
    all_of,
    exists,
    forall,
    implies,
    invariant,
    nothing,
    witness,
)
from model.retention.actions import RetentionActions
from model.retention.state import Offset, Replica


class RetentionClaims(RetentionActions):
    # ---- claims

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

    def is_latest(s, x: Offset) -> Bool:
        return all_of(
            x < s.true_high_watermark,
            forall(
                implies(all_of(x < y, y < s.true_high_watermark), s.committed[y] != s.committed[x])
                for y in Offset
            ),
        )

    @invariant
    def latest_values_are_kept(s) -> Bool:
        """Every member of the ISR has the latest committed record of each key. The only exceptions
        are records below the member's log start.
        """
        return forall(
            implies(
                s.is_latest(x) & (s.log[r].log_start <= x),
                s.log[r].record[x].key == s.committed[x],
            )
            for r in s.isr
            for x in Offset
        )

    @invariant
    def deleted_stays_deleted(s) -> Bool:
        """After a DeleteRecords request succeeds, the deleted records are below the log start of
        every later leader.
        """
        return s.deleted <= s.log[s.leader].log_start

    @action_property
    def log_starts_grow(s, after: Self) -> Bool:
        """A replica's log start never decreases."""
        return forall(s.log[r].log_start <= after.log[r].log_start for r in Replica)

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
            all_of(
                s.log[s.leader].has_offset(x),
                s.log[s.leader].record[x].key == nothing,
                s.committed[x] != nothing,
            )
            for x in Offset
        )

    @witness
    def records_are_deleted(s) -> Bool:
        """Reachable: a DeleteRecords request succeeded."""
        return s.deleted > 0

    @witness
    def a_leader_lags_what_is_deleted(s) -> Bool:
        """Reachable: a new leader's high watermark is below a follower's log start."""
        return exists(s.log[s.leader].high_watermark < s.log[r].log_start for r in Replica)
