"""The lemmas that make the claims about the abstract quorum inductive.

The main idea of the proof is that of Paxos and Raft. A record of a leader is *dead* if the leader
can never commit it: a majority has left the epoch, and has not acknowledged the record. A later
leader has the votes of a majority, which has left all earlier epochs. So each record of an earlier
leader is dead, or one of the voters has acknowledged it. Such a voter still has the record, and
votes only for a candidate that has it. So each leader begins with all records that are not dead.

Only a record of the leader's own epoch is acknowledged in this sense; the records before it stay
with it. Some claims follow from others in the same state (`consequences`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from model.language import Bool, all_of, any_of, exists, forall, implies, lemma, majority
from model.quorum_abstract.claims import AbstractQuorum
from model.quorum_abstract.slices import FOLLOW, SLICES
from model.quorum_abstract.state import Epoch, Offset, Replica


class QuorumLemmas(AbstractQuorum):
    """The lemmas about votes, about logs, and about what an epoch can still commit."""

    using: ClassVar[Mapping[tuple[str, str], tuple[str, ...]]] = SLICES  # (action, claim) -> lemmas
    consequences: ClassVar[Mapping[str, tuple[str, ...]]] = FOLLOW  # claim -> lemmas

    # ---- predicates

    def in_log(s, r: Replica, o: Offset) -> Bool:
        return o < s.replica[r].end_offset

    def in_epoch(s, e: Epoch, o: Offset) -> Bool:
        return s.led[e].begun & (o < s.led[e].end_offset)

    def is_own(s, e: Epoch, o: Offset) -> Bool:
        """True if the epoch's leader has appended the record at the offset itself."""
        return all_of(s.led[e].begun, s.led[e].start_offset <= o, o < s.led[e].end_offset)

    def is_dead(s, e: Epoch, o: Offset) -> Bool:
        """True if the epoch's leader can never commit the offset: a majority has left the epoch
        and has not acknowledged the offset in it.
        """
        return majority((e < s.replica[v].epoch) & (s.led[e].fetched[v] <= o) for v in Replica)

    # ---- votes

    @lemma
    def a_replica_votes_once(s) -> Bool:
        """In each epoch a replica votes for at most one replica."""
        return forall(
            implies(s.voted[e][v][a] & s.voted[e][v][b], a == b)
            for e in Epoch
            for v in Replica
            for a in Replica
            for b in Replica
        )

    @lemma
    def votes_are_of_reached_epochs(s) -> Bool:
        """A replica has voted, and has led, only in its epoch and in smaller ones."""
        return all_of(
            forall(
                implies(s.voted[e][v][c], e <= s.replica[v].epoch)
                for e in Epoch
                for v in Replica
                for c in Replica
            ),
            forall(
                implies(s.elected[e][r], e <= s.replica[r].epoch) for e in Epoch for r in Replica
            ),
        )

    @lemma
    def granted_votes_were_cast(s) -> Bool:
        """Every vote that a candidate has was cast for the candidate, in its epoch."""
        return forall(
            implies(s.granted[c][v], s.voted[s.replica[c].epoch][v][c])
            for c in Replica
            for v in Replica
        )

    @lemma
    def leaders_have_a_majority(s) -> Bool:
        """A majority has voted for each replica that has led."""
        return forall(
            implies(s.elected[e][r], majority(s.voted[e][v][r] for v in Replica))
            for e in Epoch
            for r in Replica
        )

    @lemma
    def epochs_begin_with_a_leader(s) -> Bool:
        """An epoch has begun if and only if some replica has led in it."""
        return all_of(
            forall(implies(s.elected[e][r], s.led[e].begun) for e in Epoch for r in Replica),
            forall(
                implies(s.led[e].begun, exists(s.elected[e][r] for r in Replica)) for e in Epoch
            ),
        )

    @lemma
    def no_other_replica_can_win(s) -> Bool:
        """After an epoch has begun, only a replica that has led in it has a majority of votes."""
        return forall(
            implies(s.led[e].begun & majority(s.voted[e][v][c] for v in Replica), s.elected[e][c])
            for e in Epoch
            for c in Replica
        )

    # ---- leaders

    @lemma
    def a_leader_has_the_log_of_its_epoch(s) -> Bool:
        """A replica that leads was elected, and its log is the log of its epoch."""
        return all_of(
            forall(
                implies(
                    s.replica[r].is_leader,
                    all_of(
                        s.elected[s.replica[r].epoch][r],
                        s.replica[r].end_offset == s.led[s.replica[r].epoch].end_offset,
                    ),
                )
                for r in Replica
            ),
            forall(
                implies(
                    s.replica[r].is_leader & s.in_log(r, o),
                    s.replica[r].entry[o] == s.led[s.replica[r].epoch].entry[o],
                )
                for r in Replica
                for o in Offset
            ),
        )

    @lemma
    def a_leadership_is_well_formed(s) -> Bool:
        """No offset of an epoch is beyond the end of its log, and a replica's log is flushed at
        most to its end.
        """
        return all_of(
            forall(s.led[e].start_offset <= s.led[e].end_offset for e in Epoch),
            forall(s.led[e].fetched[r] <= s.led[e].end_offset for e in Epoch for r in Replica),
            forall(s.replica[r].flushed <= s.replica[r].end_offset for r in Replica),
        )

    # ---- logs are prefixes of one history

    @lemma
    def no_record_is_of_a_later_epoch(s) -> Bool:
        """Every record in a log is of the log's epoch or of an earlier one.

        In the log of an epoch, the records of this epoch begin at its start offset.
        """
        return all_of(
            forall(
                implies(
                    s.in_epoch(e, o),
                    all_of(
                        s.led[e].entry[o] <= e,
                        (s.led[e].entry[o] == e) | (o < s.led[e].start_offset),
                    ),
                )
                for e in Epoch
                for o in Offset
            ),
            forall(
                implies(s.in_log(r, o), s.replica[r].entry[o] <= s.replica[r].epoch)
                for r in Replica
                for o in Offset
            ),
        )

    @lemma
    def records_come_from_their_epoch(s) -> Bool:
        """Every record in a log was appended by the leader of the record's epoch, at the same
        offset.
        """
        return all_of(
            forall(
                implies(s.in_epoch(e, o), s.is_own(s.led[e].entry[o], o))
                for e in Epoch
                for o in Offset
            ),
            forall(
                implies(s.in_log(r, o), s.is_own(s.replica[r].entry[o], o))
                for r in Replica
                for o in Offset
            ),
        )

    @lemma
    def epoch_logs_share_a_prefix(s) -> Bool:
        """Up to each record, the log of an epoch equals the log of the record's epoch."""
        return forall(
            implies(
                s.in_epoch(e, o) & (below <= o),
                s.led[e].entry[below] == s.led[s.led[e].entry[o]].entry[below],
            )
            for e in Epoch
            for o in Offset
            for below in Offset
        )

    @lemma
    def replica_logs_share_a_prefix(s) -> Bool:
        """Up to each record, a replica's log equals the log of the record's epoch."""
        return forall(
            implies(
                s.in_log(r, o) & (below <= o),
                s.replica[r].entry[below] == s.led[s.replica[r].entry[o]].entry[below],
            )
            for r in Replica
            for o in Offset
            for below in Offset
        )

    @lemma
    def epochs_in_a_log_do_not_decrease(s) -> Bool:
        """In each replica's log, the epochs of the records never decrease."""
        return forall(
            implies(
                s.in_log(r, o) & (below <= o), s.replica[r].entry[below] <= s.replica[r].entry[o]
            )
            for r in Replica
            for o in Offset
            for below in Offset
        )

    # ---- acknowledged records

    @lemma
    def acknowledgements_are_of_reached_epochs(s) -> Bool:
        """A replica has acknowledged records only in epochs that have begun, and that it has
        reached.
        """
        return forall(
            implies(
                Offset.least() < s.led[e].fetched[r],
                s.led[e].begun & (e <= s.replica[r].epoch),
            )
            for e in Epoch
            for r in Replica
        )

    @lemma
    def followers_flush_what_they_fetch(s) -> Bool:
        """A replica that has not led in its epoch has flushed every record of this epoch."""
        return forall(
            implies(
                all_of(
                    s.in_log(r, o),
                    s.replica[r].entry[o] == s.replica[r].epoch,
                    ~s.elected[s.replica[r].epoch][r],
                ),
                o < s.replica[r].flushed,
            )
            for r in Replica
            for o in Offset
        )

    @lemma
    def within_an_epoch_nothing_is_lost(s) -> Bool:
        """While a replica stays in an epoch, it keeps what it has acknowledged to the leader who
        appended it.
        """
        return forall(
            implies(
                s.is_own(s.replica[r].epoch, o) & (o < s.led[s.replica[r].epoch].fetched[r]),
                (o < s.replica[r].flushed)
                & (s.replica[r].entry[o] == s.led[s.replica[r].epoch].entry[o]),
            )
            for r in Replica
            for o in Offset
        )

    @lemma
    def what_was_acknowledged_is_kept(s) -> Bool:
        """A replica keeps each record that it acknowledged to the leader who appended it, unless
        the record is dead.
        """
        return forall(
            implies(
                all_of(s.is_own(e, o), o < s.led[e].fetched[r]),
                any_of(
                    (o < s.replica[r].flushed) & (s.replica[r].entry[o] == s.led[e].entry[o]),
                    s.is_dead(e, o),
                ),
            )
            for e in Epoch
            for r in Replica
            for o in Offset
        )

    @lemma
    def a_candidate_has_what_its_voters_acknowledged(s) -> Bool:
        """A candidate has each record of an earlier epoch that one of its voters acknowledged,
        unless the record is dead.
        """
        return forall(
            implies(
                all_of(
                    s.granted[c][v],
                    ~s.led[s.replica[c].epoch].begun,
                    e < s.replica[c].epoch,
                    s.is_own(e, o),
                    o < s.led[e].fetched[v],
                ),
                any_of(
                    s.in_log(c, o) & (s.replica[c].entry[o] == s.led[e].entry[o]),
                    s.is_dead(e, o),
                ),
            )
            for c in Replica
            for v in Replica
            for e in Epoch
            for o in Offset
        )

    @lemma
    def an_epochs_log_is_complete(s) -> Bool:
        """A leader begins with every record of an earlier leader that is not dead."""
        return forall(
            implies(
                all_of(s.led[e].begun, older < e, s.is_own(older, o)),
                any_of(
                    (o < s.led[e].start_offset) & (s.led[e].entry[o] == s.led[older].entry[o]),
                    s.is_dead(older, o),
                ),
            )
            for e in Epoch
            for older in Epoch
            for o in Offset
        )

    @lemma
    def later_leaders_have_what_follows_the_start(s) -> Bool:
        """Every leader of a later epoch began with the first own record of a leader that has
        committed.
        """
        return forall(
            implies(
                all_of(older < e, s.led[e].begun, Offset.least() < s.led[older].high_watermark),
                all_of(
                    s.led[older].start_offset < s.led[e].start_offset,
                    s.led[e].entry[s.led[older].start_offset] == older,
                ),
            )
            for e in Epoch
            for older in Epoch
        )

    @lemma
    def own_committed_records_stay(s) -> Bool:
        """Every leader of a later epoch began with each record that its own leader committed."""
        return forall(
            implies(
                all_of(
                    older < e, s.led[e].begun, s.is_own(older, o), o < s.led[older].high_watermark
                ),
                (o < s.led[e].start_offset) & (s.led[e].entry[o] == s.led[older].entry[o]),
            )
            for e in Epoch
            for older in Epoch
            for o in Offset
        )

    @lemma
    def a_replicas_log_is_complete(s) -> Bool:
        """Before a record, a replica has every record of earlier epochs that is not dead."""
        return forall(
            implies(
                all_of(s.in_log(r, at), e < s.replica[r].entry[at], s.is_own(e, o)),
                any_of(
                    (o < at) & (s.replica[r].entry[o] == s.led[e].entry[o]),
                    s.is_dead(e, o),
                ),
            )
            for r in Replica
            for at in Offset
            for e in Epoch
            for o in Offset
        )

    @lemma
    def a_deposed_leader_appends_dead_records(s) -> Bool:
        """After the leader of a later epoch has begun, what an earlier leader appends is dead."""
        return forall(
            implies((older < e) & s.led[e].begun, s.is_dead(older, s.led[older].end_offset))
            for e in Epoch
            for older in Epoch
        )

    @lemma
    def a_majority_has_what_is_committed(s) -> Bool:
        """A majority has acknowledged what a leader has committed, a record of its epoch too."""
        return forall(
            implies(
                Offset.least() < s.led[e].high_watermark,
                all_of(
                    s.led[e].begun,
                    s.led[e].start_offset < s.led[e].high_watermark,
                    s.led[e].high_watermark <= s.led[e].end_offset,
                    majority(s.led[e].high_watermark <= s.led[e].fetched[v] for v in Replica),
                ),
            )
            for e in Epoch
        )
