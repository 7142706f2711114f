"""The claims and witnesses of replication with steps that lose committed records."""

from __future__ import annotations

from model.language import Bool, all_of, exists, forall, implies, invariant, witness
from model.replication_abstract.losses import LossyReplication
from model.replication_abstract.state import LeaderEpoch, Offset, Replica


class ReplicationWithLosses(LossyReplication):
    @invariant
    def isr_has_what_is_committed(s) -> Bool:
        """Every member of the newest ISR has every committed record, except after a step that may
        lose records.

        After such a step, the claim holds again when the leader of the newest epoch has begun to
        lead.
        """
        return s.unsettled | forall(
            implies(s.isr[s.newest][r] & (o < s.committed_end), s.has_committed(r, o))
            for r in Replica
            for o in Offset
        )

    @invariant
    def high_watermarks_are_committed(s) -> Bool:
        """Every record below a leader's high watermark is committed, unless a leader of a later,
        lossy epoch has begun to lead.

        A leader epoch is lossy if its leader may lack committed records.
        """
        return forall(
            implies(
                all_of(
                    s.replica[r].is_leader,
                    ~s.is_replaced(s.replica[r].leader_epoch),
                    o < s.replica[r].high_watermark,
                ),
                (o < s.committed_end) & s.has_committed(r, o),
            )
            for r in Replica
            for o in Offset
        )

    @witness
    def a_leader_begins_without_a_record(s) -> Bool:
        """Reachable: a leader lacks a committed record when it begins to lead."""
        return exists(s.lost[e].kept < s.lost[e].end for e in LeaderEpoch)

    @witness
    def nothing_is_lost(s) -> Bool:
        """Reachable: a new leader has all committed records, although it leads in a lossy epoch.

        A leader epoch is lossy if its leader may lack committed records.
        """
        return exists(
            all_of(
                s.led[e].begun,
                Offset.least() < s.lost[e].end,
                s.lost[e].kept == s.lost[e].end,
            )
            for e in LeaderEpoch
        )

    @witness
    def another_record_takes_its_offset(s) -> Bool:
        """Reachable: another record is committed at the offset of a lost record."""
        return exists(
            all_of(s.lost[e].kept <= o, o < s.lost[e].end, o < s.committed_end)
            for e in LeaderEpoch
            for o in Offset
        )

    @witness
    def a_record_is_lost_as_it_is_committed(s) -> Bool:
        """Reachable: a deposed leader commits records after a newer leader has begun to lead
        without them.
        """
        return exists(Offset.least() < s.late[e] for e in LeaderEpoch)
