"""The claims about the abstract quorum: leaders, logs and committed records."""

from __future__ import annotations

from model.language import Bool, all_of, exists, forall, implies, invariant, witness
from model.quorum_abstract.actions import AbstractQuorumActions
from model.quorum_abstract.state import Epoch, Offset, Replica


class AbstractQuorum(AbstractQuorumActions):
    # ---- claims

    @invariant
    def one_leader_per_epoch(s) -> Bool:
        """At most one replica ever leads in each epoch."""
        return forall(
            implies(s.elected[e][a] & s.elected[e][b], a == b)
            for e in Epoch
            for a in Replica
            for b in Replica
        )

    @invariant
    def leaders_have_committed_records(s) -> Bool:
        """Every record that a leader has committed is in the log of every leader of a larger
        epoch.
        """
        return forall(
            implies(
                all_of(older < e, s.led[e].begun, o < s.led[older].high_watermark),
                (o < s.led[e].end_offset) & (s.led[e].entry[o] == s.led[older].entry[o]),
            )
            for e in Epoch
            for older in Epoch
            for o in Offset
        )

    @invariant
    def committed_records_agree(s) -> Bool:
        """Any two leaders that have committed a record at the same offset have committed the
        same record.
        """
        return forall(
            implies(
                (o < s.led[a].high_watermark) & (o < s.led[b].high_watermark),
                s.led[a].entry[o] == s.led[b].entry[o],
            )
            for a in Epoch
            for b in Epoch
            for o in Offset
        )

    @invariant
    def logs_match(s) -> Bool:
        """If two replicas have the same record at an offset, they have the same records at all
        smaller offsets.
        """
        return forall(
            implies(
                all_of(
                    o < s.replica[a].end_offset,
                    o < s.replica[b].end_offset,
                    s.replica[a].entry[o] == s.replica[b].entry[o],
                    below <= o,
                ),
                s.replica[a].entry[below] == s.replica[b].entry[below],
            )
            for a in Replica
            for b in Replica
            for o in Offset
            for below in Offset
        )

    # ---- witnesses

    @witness
    def a_record_outlives_its_leader(s) -> Bool:
        """Reachable: a leader has committed a record, and a leader of a larger epoch has begun
        to lead.
        """
        return exists(
            all_of(older < e, s.led[e].begun, o < s.led[older].high_watermark)
            for e in Epoch
            for older in Epoch
            for o in Offset
        )

    @witness
    def records_are_in_doubt(s) -> Bool:
        """Reachable: a follower has a record that its leader lacks."""
        return exists(
            all_of(s.follows(r), o < s.replica[r].end_offset, ~s.agrees(r, o))
            for r in Replica
            for o in Offset
        )
