"""The lemmas that make the claims of the spec `replication-abstract` inductive.

The logs of all epochs and replicas share prefixes (`history.py`). The main idea of the proof is as
follows. A new leader has every record that an earlier leader has committed or can still commit,
because the new leader comes from the ISR of the earlier leader. A member of this ISR that moves to
a newer epoch fetches no more from the earlier leader. So the earlier leader can never commit the
records that this member has not fetched (`departure`).

A log is *complete* if it has all records that the leaders of earlier epochs have committed or can
still commit. By the lemmas whose names end in `_is_complete`, the logs of the leader and of the ISR
members of each epoch are complete. An epoch is *superseded* if a member of its ISR has moved to a
newer epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from model.language import Bool, all_of, any_of, forall, implies, lemma
from model.replication_abstract.history import SharedHistory
from model.replication_abstract.slices import SLICES
from model.replication_abstract.state import LeaderEpoch, Offset, Replica


class ReplicationLemmas(SharedHistory):
    using: ClassVar[Mapping[tuple[str, str], tuple[str, ...]]] = SLICES  # (action, claim) -> lemmas

    # ---- predicates

    def is_blocked(s, e: LeaderEpoch, o: Offset) -> Bool:
        """Returns True if the leader of the epoch `e` can never commit its record at the offset
        `o`.

        This is the case if a member of the epoch's ISR moved to a newer epoch before it had fetched
        the record.
        """
        return s.departure[e].happened & (s.departure[e].bound <= o)

    def is_superseded(s, e: LeaderEpoch) -> Bool:
        return s.departure[e].happened

    # ---- the in-sync set

    @lemma
    def a_leader_waits_for_the_isr(s) -> Bool:
        """A leader's maximal ISR includes the controller's ISR and every proposed replica."""
        return all_of(
            forall(
                implies(s.led[e].begun & s.isr[e][r], s.led[e].maximal_isr[r])
                for e in LeaderEpoch
                for r in Replica
            ),
            forall(
                implies(s.elected[e] & ~s.led[e].begun & s.isr[e][r], s.first_isr[e][r])
                for e in LeaderEpoch
                for r in Replica
            ),
            forall(
                implies(
                    s.led[e].proposed[r],
                    all_of(
                        s.led[e].begun,
                        s.led[e].maximal_isr[r],
                        s.led[e].start_offset <= s.led[e].fetched[r],
                    ),
                )
                for e in LeaderEpoch
                for r in Replica
            ),
            forall(
                implies(s.elected[e] & ~s.vacant[e], s.isr[e][s.leader[e]]) for e in LeaderEpoch
            ),
            forall(implies(s.led[e].begun, ~s.vacant[e]) for e in LeaderEpoch),
            forall(implies(s.vacant[e], s.elected[e]) for e in LeaderEpoch),
        )

    @lemma
    def isr_members_come_from_the_isr(s) -> Bool:
        """Every ISR member of an epoch is in the ISR of each earlier epoch that is not superseded.

        An epoch is superseded if a member of its ISR has moved to a newer epoch.
        """
        return forall(
            implies(
                all_of(s.elected[e], s.isr[e][r], s.elected[old], old < e),
                s.isr[old][r] | s.is_superseded(old),
            )
            for e in LeaderEpoch
            for r in Replica
            for old in LeaderEpoch
        )

    @lemma
    def a_begun_epoch_supersedes(s) -> Bool:
        """After a leader has begun to lead, each earlier epoch has an ISR member that has moved to
        a newer epoch.
        """
        return forall(
            implies(all_of(s.led[e].begun, s.elected[old], old < e), s.is_superseded(old))
            for e in LeaderEpoch
            for old in LeaderEpoch
        )

    # ---- complete logs

    @lemma
    def an_epochs_log_is_complete(s) -> Bool:
        """When a leader begins to lead, it has every record that an earlier leader has committed or
        can still commit.
        """
        return forall(
            implies(
                s.led[e].begun & (old < e) & s.in_epoch(old, o),
                any_of(
                    (o < s.led[e].start_offset) & s.same_in_epochs(e, old, o),
                    s.is_blocked(old, o),
                ),
            )
            for e in LeaderEpoch
            for old in LeaderEpoch
            for o in Offset
        )

    @lemma
    def an_isr_members_log_is_complete(s) -> Bool:
        """If an ISR member lacks a record of an earlier leader, the earlier leader cannot commit
        the record now.

        There are two cases: the earlier leader can never commit the record (`is_blocked`), or this
        ISR member must fetch the record first.
        """
        return forall(
            implies(
                all_of(s.elected[e], s.isr[e][r], s.in_epoch(old, o), old <= e),
                any_of(
                    all_of(
                        old <= s.replica[r].leader_epoch,
                        s.in_log(r, o),
                        s.same_as_epoch(r, old, o),
                    ),
                    s.is_blocked(old, o),
                    all_of(
                        s.isr[old][r],
                        s.replica[r].leader_epoch <= old,
                        s.led[old].fetched[r] <= o,
                    ),
                ),
            )
            for e in LeaderEpoch
            for r in Replica
            for old in LeaderEpoch
            for o in Offset
        )

    # ---- committed records

    @lemma
    def what_an_epoch_committed_is_committed(s) -> Bool:
        """The variable `committed` has every record below the high watermark of an epoch's leader.

        The leader of this epoch or of an earlier epoch committed the record first.
        """
        return forall(
            implies(
                s.led[e].begun & (o < s.led[e].high_watermark),
                all_of(
                    o < s.committed_end,
                    s.committed_by[o] <= e,
                    s.led[e].entry[o] == s.committed[o],
                ),
            )
            for e in LeaderEpoch
            for o in Offset
        )

    @lemma
    def somebody_committed_it(s) -> Bool:
        """Every committed record was committed by a leader, and every member of this leader's
        maximal ISR has fetched the record.

        The maximal ISR of a leader includes the ISR and the replicas that the leader has proposed
        as members.
        """
        return forall(
            implies(
                o < s.committed_end,
                all_of(
                    s.led[s.committed_by[o]].begun,
                    o < s.led[s.committed_by[o]].high_watermark,
                    s.led[s.committed_by[o]].entry[o] == s.committed[o],
                    forall(
                        implies(
                            s.led[s.committed_by[o]].maximal_isr[f],
                            o < s.led[s.committed_by[o]].fetched[f],
                        )
                        for f in Replica
                    ),
                ),
            )
            for o in Offset
        )

    @lemma
    def high_watermarks_are_within_logs(s) -> Bool:
        """A replica's high watermark is not above the end of the replica's log.

        Each record below the high watermark was committed in the replica's leader epoch or in an
        earlier epoch.
        """
        return all_of(
            forall(
                all_of(
                    s.replica[r].high_watermark <= s.replica[r].end_offset,
                    s.replica[r].high_watermark <= s.committed_end,
                    implies(
                        s.led[s.replica[r].leader_epoch].begun,
                        s.led[s.replica[r].leader_epoch].fetched[r] <= s.replica[r].end_offset,
                    ),
                )
                for r in Replica
            ),
            forall(
                implies(
                    o < s.replica[r].high_watermark,
                    s.committed_by[o] <= s.replica[r].leader_epoch,
                )
                for r in Replica
                for o in Offset
            ),
        )

    # ---- replicas that moved to a newer epoch

    @lemma
    def a_departure_is_of_a_member(s) -> Bool:
        """The replica in `departure` of a leader epoch is in the ISR of this leader epoch, and has
        moved to a newer one.

        The field `bound` of `departure` is the offset up to which the replica fetched in the leader
        epoch that it left.
        """
        return forall(
            implies(
                s.departure[e].happened,
                all_of(
                    s.elected[e],
                    s.isr[e][s.departure[e].member],
                    e < s.replica[s.departure[e].member].leader_epoch,
                    s.led[e].fetched[s.departure[e].member] == s.departure[e].bound,
                ),
            )
            for e in LeaderEpoch
        )

    @lemma
    def a_departure_has_the_least_offset(s) -> Bool:
        """Let r be an ISR member of an old epoch that has moved to a newer epoch. In the old epoch,
        r has fetched at least up to `departure.bound` of the old epoch.
        """
        return forall(
            implies(
                all_of(s.elected[e], s.isr[e][r], e < s.replica[r].leader_epoch),
                s.departure[e].happened & (s.departure[e].bound <= s.led[e].fetched[r]),
            )
            for e in LeaderEpoch
            for r in Replica
        )

    @lemma
    def nobody_is_ahead_of_the_controller(s) -> Bool:
        """No replica is in a leader epoch newer than the controller's newest epoch."""
        return forall(s.replica[r].leader_epoch <= s.newest for r in Replica)
