"""The lemmas about votes, leaders and logs, which the proof of the abstract quorum uses."""

from __future__ import annotations

from model.language import Bool, all_of, exists, forall, implies, lemma, majority
from model.quorum_abstract.claims import AbstractQuorum
from model.quorum_abstract.state import Epoch, Offset, Replica


class QuorumLogLemmas(AbstractQuorum):
    # ---- predicates

    def in_log(s, r: Replica, o: Offset) -> Bool:
        return o < s.replica[r].end_offset

    def in_epoch(s, e: Epoch, o: Offset) -> Bool:
        return s.led[e].begun & (o < s.led[e].end_offset)

    def is_own(s, e: Epoch, o: Offset) -> Bool:
        """Returns True if the leader of the epoch `e` has appended the record at the offset `o` of
        its log in this epoch.
        """
        return all_of(s.led[e].begun, s.led[e].start_offset <= o, o < s.led[e].end_offset)

    def is_dead(s, e: Epoch, o: Offset) -> Bool:
        """Returns True if the leader of the epoch `e` can never commit its record at the offset
        `o`.

        This is the case if a majority of the replicas have moved to larger epochs without an
        acknowledgement of this record to this leader.
        """
        return majority((e < s.replica[v].epoch) & (s.led[e].fetched[v] <= o) for v in Replica)

    # ---- votes

    @lemma
    def a_replica_votes_once(s) -> Bool:
        """In each epoch, a replica votes for at most one replica."""
        return forall(
            implies(s.voted[e][v][a] & s.voted[e][v][b], a == b)
            for e in Epoch
            for v in Replica
            for a in Replica
            for b in Replica
        )

    @lemma
    def votes_are_of_reached_epochs(s) -> Bool:
        """A replica has voted and has led only in epochs up to its present epoch."""
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
        """Every vote that a candidate counts was cast for this candidate in the candidate's
        epoch.
        """
        return forall(
            implies(s.granted[c][v], s.voted[s.replica[c].epoch][v][c])
            for c in Replica
            for v in Replica
        )

    @lemma
    def leaders_have_a_majority(s) -> Bool:
        """If a replica has led in an epoch, a majority has voted for this replica in this epoch."""
        return forall(
            implies(s.elected[e][r], majority(s.voted[e][v][r] for v in Replica))
            for e in Epoch
            for r in Replica
        )

    @lemma
    def epochs_begin_with_a_leader(s) -> Bool:
        """An epoch has begun if and only if a replica has led in it."""
        return all_of(
            forall(implies(s.elected[e][r], s.led[e].begun) for e in Epoch for r in Replica),
            forall(
                implies(s.led[e].begun, exists(s.elected[e][r] for r in Replica)) for e in Epoch
            ),
        )

    @lemma
    def no_other_replica_can_win(s) -> Bool:
        """If an epoch has had a leader, no other replica has a majority of the votes in this
        epoch.
        """
        return forall(
            implies(s.led[e].begun & majority(s.voted[e][v][c] for v in Replica), s.elected[e][c])
            for e in Epoch
            for c in Replica
        )

    # ---- leaders

    @lemma
    def a_leader_has_the_log_of_its_epoch(s) -> Bool:
        """Every leader was elected in its epoch, and its log equals the log of this epoch in the
        variable `led`.
        """
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
        """The start offset and all acknowledged offsets of a leader are at most the end offset of
        the leader's log.

        Also, no replica has flushed beyond the end of its own log.
        """
        return all_of(
            forall(s.led[e].start_offset <= s.led[e].end_offset for e in Epoch),
            forall(s.led[e].fetched[r] <= s.led[e].end_offset for e in Epoch for r in Replica),
            forall(s.replica[r].flushed <= s.replica[r].end_offset for r in Replica),
        )

    # ---- logs are prefixes of one history

    @lemma
    def no_record_is_of_a_later_epoch(s) -> Bool:
        """A replica's log has no record of an epoch larger than the replica's own epoch.

        The variable `led` has a log for each epoch. In the log of an epoch, no record has a larger
        epoch. From the offset at which the epoch began (`start_offset`), all records have exactly
        this epoch.
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
        """If the log of an epoch's leader has a record of an earlier epoch, the leaders of both
        epochs have the same log up to this record.
        """
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
        """If a replica's log has a record of an epoch, this log equals the log of the epoch's
        leader up to the record.
        """
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
