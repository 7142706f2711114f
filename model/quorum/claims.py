"""The claims about a KRaft quorum: each epoch has at most one leader, and committed records are
not lost.
"""

from __future__ import annotations

from typing import Self

from model.language import (
    Bool,
    Temporal,
    action_property,
    all_of,
    exists,
    forall,
    implies,
    invariant,
    leads_to,
    liveness,
    nothing,
    witness,
)
from model.quorum.actions import QuorumActions
from model.quorum.state import CANDIDATE, Offset, Replica, only, same_record


class QuorumClaims(QuorumActions):
    # ---- claims

    @invariant
    def one_leader_per_epoch(s) -> Bool:
        """At most one replica leads in each epoch."""
        return forall(
            implies(s.leads(a) & s.leads(b) & (s.member[a].epoch == s.member[b].epoch), a == b)
            for a in Replica
            for b in Replica
        )

    @invariant
    def logs_match(s) -> Bool:
        """If two logs have the same record at an offset, they have the same records at all
        smaller offsets.
        """
        return forall(
            implies(
                same_record(s.log[a], s.log[b], x) & (y < x),
                s.log[a].entry[y].epoch == s.log[b].entry[y].epoch,
            )
            for a in Replica
            for b in Replica
            for x in Offset
            for y in Offset
        )

    def has_committed(s, r: Replica, x: Offset) -> Bool:
        return s.log[r].has_offset(x) & (s.log[r].entry[x].epoch == s.committed[x])

    @invariant
    def leaders_have_committed_records(s) -> Bool:
        """The leader of the newest epoch has every committed record."""
        return forall(
            implies(
                s.leads(r) & forall(s.member[a].epoch <= s.member[r].epoch for a in Replica),
                forall(implies(x < s.committed_end, s.has_committed(r, x)) for x in Offset),
            )
            for r in Replica
        )

    @invariant
    def high_watermarks_are_committed(s) -> Bool:
        """Every replica has the committed record at each offset below the replica's high
        watermark.
        """
        return forall(
            implies(x < s.log[r].high_watermark, s.has_committed(r, x))
            for r in Replica
            for x in Offset
        )

    @action_property
    def epochs_grow(s, after: Self) -> Bool:
        """A replica's epoch never decreases, and a replica does not change its vote within an
        epoch.
        """
        return forall(
            all_of(
                s.member[r].epoch <= after.member[r].epoch,
                implies(
                    (s.member[r].epoch == after.member[r].epoch) & (s.member[r].voted != nothing),
                    s.member[r].voted == after.member[r].voted,
                ),
            )
            for r in Replica
        )

    @action_property
    def leaders_append_only(s, after: Self) -> Bool:
        """A leader removes no record from its log while it leads in an epoch."""
        return forall(
            implies(
                all_of(s.leads(r), after.leads(r), s.member[r].epoch == after.member[r].epoch),
                s.log[r].end_offset <= after.log[r].end_offset,
            )
            for r in Replica
        )

    @action_property
    def no_candidate_is_cut_off(s, after: Self) -> Bool:
        """A replica that is cut off does not become candidate in a new epoch, unless it is the
        only voter.
        """
        return forall(
            implies(
                all_of(
                    s.cut_off == r,
                    after.member[r].role == CANDIDATE,
                    ~s.is_majority(r, only(r)),
                ),
                s.member[r].epoch == after.member[r].epoch,
            )
            for r in Replica
        )

    @liveness
    def a_leader_without_followers_resigns(s, r: Replica) -> Temporal:
        """A leader that is cut off from the other replicas eventually stops leading."""
        return leads_to(s.leads(r) & (s.cut_off == r), ~s.leads(r))

    # ---- witnesses

    @witness
    def two_leaders_at_once(s) -> Bool:
        """Reachable: two replicas lead at once. The leader of the smaller epoch does not know
        the larger epoch yet.
        """
        return exists(s.leads(a) & s.leads(b) & (a != b) for a in Replica for b in Replica)

    @witness
    def records_are_in_doubt(s) -> Bool:
        """Reachable: a replica has a record that a leader does not have."""
        return exists(
            s.leads(r) & s.log[f].has_offset(x) & ~same_record(s.log[f], s.log[r], x)
            for r in Replica
            for f in Replica
            for x in Offset
        )

    @witness
    def a_second_leader_commits(s) -> Bool:
        """Reachable: a record of an epoch after the first epoch (0) is committed."""
        return exists((x < s.committed_end) & (s.committed[x] > 0) for x in Offset)
