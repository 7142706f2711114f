"""Why abstract replication loses nothing: the invariants that make its two claims inductive.

In one breath: the log of an epoch is a prefix of history (`..._prefix`), so who agrees at an offset
agrees below it. A leader begins with all that earlier leaders could still commit, because it comes
from their ISR, and whoever leaves an ISR for a newer epoch bounds what the old leader commits from
then on (`departure`). So the logs of an epoch and of its ISR are *complete*: each record of an
earlier epoch is in them, or will never be committed by that epoch (`..._is_complete`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from model.language import Bool, all_of, any_of, forall, implies, lemma
from model.replication_abstract import (
    AbstractReplication,
    LeaderEpoch,
    Offset,
    Replica,
)
from model.replication_slices import SLICES


class ReplicationProof(AbstractReplication):
    """Today's protocol, with the lemmas that prove it for every number of everything."""

    using: ClassVar[Mapping[tuple[str, str], tuple[str, ...]]] = SLICES  # (action, claim) -> lemmas

    # ---- words

    def same_as_epoch(s, r: Replica, e: LeaderEpoch, o: Offset) -> Bool:
        """The replica and the epoch's log have the same at the offset."""
        return s.replica[r].entry[o] == s.led[e].entry[o]

    def same_in_epochs(s, a: LeaderEpoch, b: LeaderEpoch, o: Offset) -> Bool:
        return s.led[a].entry[o] == s.led[b].entry[o]

    def in_log(s, r: Replica, o: Offset) -> Bool:
        return o < s.replica[r].end_offset

    def in_epoch(s, e: LeaderEpoch, o: Offset) -> Bool:
        return s.led[e].begun & (o < s.led[e].end_offset)

    def is_blocked(s, e: LeaderEpoch, o: Offset) -> Bool:
        """The epoch's leader will never commit the offset: a member without it has left."""
        return s.departure[e].happened & (s.departure[e].bound <= o)

    def is_superseded(s, e: LeaderEpoch) -> Bool:
        return s.departure[e].happened

    # ---- epochs and their leaders

    @lemma
    def epochs_are_elected(s) -> Bool:
        """Nobody is in an epoch, and no epoch begins, that the controller has not elected."""
        return all_of(
            s.elected[s.newest],
            forall(implies(s.elected[e], e <= s.newest) for e in LeaderEpoch),
            forall(implies(s.led[e].begun, s.elected[e]) for e in LeaderEpoch),
            forall(s.elected[s.replica[r].leader_epoch] for r in Replica),
        )

    @lemma
    def an_epoch_that_began_was_reached(s) -> Bool:
        """A leader enters its epoch when it begins it, and replicas never go back."""
        return forall(
            implies(s.led[e].begun, e <= s.replica[s.leader[e]].leader_epoch) for e in LeaderEpoch
        )

    @lemma
    def leaders_were_elected(s) -> Bool:
        """Only the elected begin an epoch, and a replica that leads has begun its own."""
        return forall(
            implies(
                s.replica[r].is_leader,
                (s.leader[s.replica[r].leader_epoch] == r) & s.led[s.replica[r].leader_epoch].begun,
            )
            for r in Replica
        )

    @lemma
    def a_leader_is_its_leadership(s) -> Bool:
        """While it leads, every change to its log is a change to its epoch's."""
        return forall(
            implies(
                s.replica[r].is_leader,
                all_of(
                    s.replica[r].end_offset == s.led[s.replica[r].leader_epoch].end_offset,
                    s.replica[r].high_watermark == s.led[s.replica[r].leader_epoch].high_watermark,
                    s.led[s.replica[r].leader_epoch].fetched[r] == s.replica[r].end_offset,
                ),
            )
            for r in Replica
        )

    @lemma
    def a_leader_has_the_log_of_its_epoch(s) -> Bool:
        """It wrote both with one hand."""
        return forall(
            implies(
                s.replica[r].is_leader & s.in_log(r, o),
                s.same_as_epoch(r, s.replica[r].leader_epoch, o),
            )
            for r in Replica
            for o in Offset
        )

    # ---- logs are prefixes of history

    @lemma
    def records_come_from_their_epoch(s) -> Bool:
        """A record was appended by the leader whose epoch it carries, and is still in that log."""

        def is_home(e: LeaderEpoch, o: Offset) -> Bool:
            return s.in_epoch(e, o) & (s.led[e].entry[o].leader_epoch == e)

        return all_of(
            forall(
                implies(
                    s.in_epoch(e, o),
                    all_of(
                        s.led[e].entry[o].leader_epoch <= e,
                        is_home(s.led[e].entry[o].leader_epoch, o),
                    ),
                )
                for e in LeaderEpoch
                for o in Offset
            ),
            forall(
                implies(
                    s.in_log(r, o),
                    all_of(
                        s.replica[r].entry[o].leader_epoch <= s.replica[r].leader_epoch,
                        is_home(s.replica[r].entry[o].leader_epoch, o),
                    ),
                )
                for r in Replica
                for o in Offset
            ),
        )

    @lemma
    def epoch_logs_share_a_prefix(s) -> Bool:
        """Below a record, the log is what its author's log was: a leader appends to what it has."""
        return forall(
            implies(
                s.in_epoch(e, o) & (below <= o),
                s.same_in_epochs(e, s.led[e].entry[o].leader_epoch, below),
            )
            for e in LeaderEpoch
            for o in Offset
            for below in Offset
        )

    @lemma
    def replica_logs_share_a_prefix(s) -> Bool:
        """The same of replicas: a fetch is answered only where the last records agree."""
        return forall(
            implies(
                s.in_log(r, o) & (below <= o),
                s.same_as_epoch(r, s.replica[r].entry[o].leader_epoch, below),
            )
            for r in Replica
            for o in Offset
            for below in Offset
        )

    @lemma
    def a_leadership_is_well_formed(s) -> Bool:
        """It starts, and commits, inside its log."""
        return forall(
            implies(
                s.led[e].begun,
                (s.led[e].start_offset <= s.led[e].end_offset)
                & (s.led[e].high_watermark <= s.led[e].end_offset),
            )
            for e in LeaderEpoch
        )

    @lemma
    def own_records_begin_at_the_start(s) -> Bool:
        """What a leader found is of earlier epochs, what it appended is of its own."""
        return forall(
            implies(
                s.in_epoch(e, o),
                all_of(
                    implies(s.led[e].start_offset <= o, s.led[e].entry[o].leader_epoch == e),
                    implies(o < s.led[e].start_offset, s.led[e].entry[o].leader_epoch < e),
                ),
            )
            for e in LeaderEpoch
            for o in Offset
        )

    # ---- what was fetched

    @lemma
    def fetches_reach_who_asked(s) -> Bool:
        """Only a replica that was in the epoch fetched in it, and no more than there was."""
        return forall(
            all_of(
                implies(
                    Offset.least() < s.led[e].fetched[r],
                    s.led[e].begun & (e <= s.replica[r].leader_epoch),
                ),
                implies(s.led[e].begun, s.led[e].fetched[r] <= s.led[e].end_offset),
            )
            for e in LeaderEpoch
            for r in Replica
        )

    @lemma
    def what_was_fetched_is_there(s) -> Bool:
        """While a replica stays in an epoch, it has what it said that it fetched."""
        return forall(
            implies(
                s.led[s.replica[r].leader_epoch].begun
                & (o < s.led[s.replica[r].leader_epoch].fetched[r]),
                s.in_log(r, o) & s.same_as_epoch(r, s.replica[r].leader_epoch, o),
            )
            for r in Replica
            for o in Offset
        )

    # ---- the in-sync set

    @lemma
    def a_leader_waits_for_the_isr(s) -> Bool:
        """The ISR is among those it waits for, proposals too, and its leader is in it."""
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
            forall(implies(s.elected[e], s.isr[e][s.leader[e]]) for e in LeaderEpoch),
        )

    @lemma
    def isr_members_come_from_the_isr(s) -> Bool:
        """A member of a later ISR was in the earlier one, or somebody has left that for good."""
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
        """Its leader came from the ISRs of those before, and has left them."""
        return forall(
            implies(all_of(s.led[e].begun, s.elected[old], old < e), s.is_superseded(old))
            for e in LeaderEpoch
            for old in LeaderEpoch
        )

    # ---- who has what

    @lemma
    def an_epochs_log_is_complete(s) -> Bool:
        """A leader began with all that any earlier leader committed or still will."""
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
        """A member of the ISR has the record; or the epoch is blocked, or waits for this member."""
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

    # ---- what is committed

    @lemma
    def what_an_epoch_committed_is_committed(s) -> Bool:
        """Below an epoch's high watermark is what the history committed, by it or before it."""
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
        """What is committed is below the high watermark of an epoch whose whole ISR fetched it."""
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
    def high_watermarks_are_behind(s) -> Bool:
        """A replica's high watermark is within its log, and of its epoch or an earlier one."""
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

    # ---- departures

    @lemma
    def a_departure_is_of_a_member(s) -> Bool:
        """Who is remembered was in the ISR, is gone to a newer epoch, and had fetched so much."""
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
    def the_one_with_least_is_remembered(s) -> Bool:
        """Of all members that have left, the departure keeps the least that one had fetched."""
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
        """Epochs are the controller's to give."""
        return forall(s.replica[r].leader_epoch <= s.newest for r in Replica)
