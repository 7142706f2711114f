"""The lemmas that make the claims about the abstract quorum inductive.

The main idea is the idea of Paxos and Raft. A leader's record is *dead* if the leader can never
commit it: a majority of the replicas has moved to larger epochs, and has not acknowledged the
record. A later leader has the votes of a majority of replicas that have moved to its larger epoch.
So each record of an earlier leader is dead, or one of these voters has acknowledged it. This voter
still has the record, and votes only for a candidate that has it. So each new leader has all records
that are not dead.

In these lemmas, only a record of the leader's own epoch counts as *acknowledged*. A log that has
such a record also has all records before it. The table `consequences` lists claims that follow from
other claims in the same state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from model.language import Bool, all_of, any_of, forall, implies, lemma, majority
from model.quorum_abstract.log_lemmas import QuorumLogLemmas
from model.quorum_abstract.slices import FOLLOW, SLICES
from model.quorum_abstract.state import Epoch, Offset, Replica


class QuorumLemmas(QuorumLogLemmas):
    using: ClassVar[Mapping[tuple[str, str], tuple[str, ...]]] = SLICES  # (action, claim) -> lemmas
    consequences: ClassVar[Mapping[str, tuple[str, ...]]] = FOLLOW  # claim -> lemmas

    # ---- acknowledged records

    @lemma
    def acknowledgements_are_of_reached_epochs(s) -> Bool:
        """If a replica has acknowledged a record in an epoch, the replica is in this epoch or in
        a larger one. Also, this epoch has begun.
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
        """A replica that has not led in its epoch has flushed all of its records of this epoch."""
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
        """A replica still has each record of its present epoch that it has acknowledged in this
        epoch.
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
        """If a replica has acknowledged a record to the leader that appended it, the replica
        still has the record on its disk, or this leader can never commit the record (`is_dead`).
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
        """A candidate has each record of an earlier epoch that one of its voters has
        acknowledged, unless the record can never be committed (`is_dead`).
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
        """When a leader begins to lead, it has every record of earlier leaders that may be
        committed.

        The records that it lacks can never be committed (`is_dead`).
        """
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
        """If the leader of an epoch has advanced its high watermark, the leaders of larger epochs
        have the first record of that epoch.

        This first record is at the start offset, where the leader's log ended when it began to
        lead.
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
        """If a leader has appended and committed a record, every later leader has this record
        when it begins to lead.
        """
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
        """Before each record of a replica's log, the log has all records of smaller epochs, except
        those that can never be committed (`is_dead`).
        """
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
        """After the leader of a larger epoch has begun to lead, an earlier leader can never
        commit the records that it still appends (`is_dead`).
        """
        return forall(
            implies((older < e) & s.led[e].begun, s.is_dead(older, s.led[older].end_offset))
            for e in Epoch
            for older in Epoch
        )

    @lemma
    def a_majority_has_what_is_committed(s) -> Bool:
        """If a leader's high watermark is above 0, a majority of the replicas has acknowledged all
        records below the high watermark.

        The leader has appended at least one of these records itself.
        """
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
