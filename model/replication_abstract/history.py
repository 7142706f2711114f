"""One history: the logs of epochs and replicas in abstract replication are prefixes of it.

The log of a leader epoch only grows, so whoever has a record of an author has, below it, what that
author's log had: who agrees at an offset agrees below it (`..._prefix`). And what a replica said
that it fetched is still there, as long as it stays in the epoch.
"""

from __future__ import annotations

from model.language import Bool, all_of, forall, implies, lemma
from model.replication_abstract.claims import AbstractReplication
from model.replication_abstract.state import LeaderEpoch, Offset, Replica


class SharedHistory(AbstractReplication):
    """Lemmas about logs: who wrote them, where they agree, and what was fetched of them."""

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
