"""The two claims and the witnesses of the spec `replication-abstract`."""

from __future__ import annotations

from model.language import Bool, all_of, exists, forall, implies, invariant, witness
from model.replication_abstract.actions import AbstractReplicationActions
from model.replication_abstract.state import LeaderEpoch, Offset, Replica


class AbstractReplication(AbstractReplicationActions):
    # ---- claims

    def has_committed(s, r: Replica, offset: Offset) -> Bool:
        return all_of(
            offset < s.replica[r].end_offset,
            s.replica[r].entry[offset] == s.committed[offset],
        )

    @invariant
    def isr_has_what_is_committed(s) -> Bool:
        """Every member of the newest ISR has every committed record, so a clean election loses no
        record.
        """
        return forall(
            implies(s.isr[s.newest][r] & (o < s.committed_end), s.has_committed(r, o))
            for r in Replica
            for o in Offset
        )

    @invariant
    def high_watermarks_are_committed(s) -> Bool:
        """Every record below a replica's high watermark is committed. So two replicas have the same
        record at each offset below both of their high watermarks.
        """
        return forall(
            implies(o < s.replica[r].high_watermark, (o < s.committed_end) & s.has_committed(r, o))
            for r in Replica
            for o in Offset
        )

    # ---- witnesses

    @witness
    def a_record_outlives_its_leader(s) -> Bool:
        """Reachable: a leader has committed a record that an earlier leader appended."""
        return exists(
            all_of(
                s.led[e].begun,
                o < s.led[e].high_watermark,
                s.led[e].entry[o].leader_epoch < e,
            )
            for e in LeaderEpoch
            for o in Offset
        )

    @witness
    def a_follower_diverges(s) -> Bool:
        """Reachable: a follower has a record that its leader lacks."""
        return exists(
            all_of(s.follows(r), o < s.replica[r].end_offset, ~s.agrees(r, o))
            for r in Replica
            for o in Offset
        )
