"""The lemmas that make the claims about the abstract partition inductive.

A *member* of an epoch is a broker in the ISR or the ELR of this epoch. A leader commits a record
only when every member of its epoch has acknowledged the record. The members of a newer epoch come
from the members of the older epoch. A member that has moved to a newer epoch acknowledges no more
records to the older leader. So the older leader never commits a record that this member lacked when
the member moved (`is_blocked`).

A log is *complete* if it has all records that the leaders of earlier epochs have committed or can
still commit. By the lemmas `..._is_complete`, the logs of leaders and members are complete. A
broker that stopped uncleanly is a member of no newer epoch until it has caught up again.

An epoch is *superseded* if one of its members has moved to a newer epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from model.language import Bool, all_of, any_of, exists, forall, implies, lemma
from model.reassignment_abstract.claims import AbstractPartition
from model.reassignment_abstract.slices import FOLLOW, SLICES
from model.reassignment_abstract.state import LeaderEpoch, RecordId, Replica


class PartitionLemmas(AbstractPartition):
    using: ClassVar[Mapping[tuple[str, str], tuple[str, ...]]] = SLICES  # (action, claim) -> lemmas
    consequences: ClassVar[Mapping[str, tuple[str, ...]]] = FOLLOW  # claim -> lemmas

    # ---- predicates

    def has_left(s, e: LeaderEpoch, r: Replica) -> Bool:
        return s.is_member(e, r) & (e < s.broker[r].leader_epoch)

    def is_superseded(s, e: LeaderEpoch) -> Bool:
        return exists(s.has_left(e, r) for r in Replica)

    def is_blocked(s, e: LeaderEpoch, x: RecordId) -> Bool:
        """Returns True if a member of the epoch has moved to a newer epoch, and never acknowledged
        the record to the epoch's leader. Then this leader can never commit the record.
        """
        return exists(s.has_left(e, r) & ~s.led[e].acknowledged[r][x] for r in Replica)

    # ---- the registration

    @lemma
    def epochs_are_elected(s) -> Bool:
        """The newest epoch is the largest epoch that the controller has started.

        If a started epoch has a leader, this leader is in the ISR of the epoch. Only started epochs
        have an ISR, an ELR and a leader. No broker is in an epoch larger than the newest epoch.
        """
        return all_of(
            s.elected[s.newest],
            forall(
                all_of(
                    implies(s.elected[e], e <= s.newest),
                    implies(s.vacant[e] | s.led[e].begun, s.elected[e]),
                    implies(s.vacant[e], ~s.led[e].begun),
                    implies(s.elected[e] & ~s.vacant[e], s.isr[e][s.leader[e]]),
                )
                for e in LeaderEpoch
            ),
            forall(s.broker[r].leader_epoch <= s.newest for r in Replica),
            forall(implies(s.is_member(e, r), s.elected[e]) for e in LeaderEpoch for r in Replica),
        )

    @lemma
    def the_last_to_join_ends_an_epoch(s) -> Bool:
        """If a broker joined the ISR in the step that ended a leader epoch, then the epoch is not
        the newest one, and its leader had begun to lead.
        """
        return forall(
            implies(s.joined_last[e][r], s.led[e].begun & (e != s.newest))
            for e in LeaderEpoch
            for r in Replica
        )

    @lemma
    def a_large_isr_has_no_elr(s) -> Bool:
        """If the ISR of an epoch has at least min.insync.replicas members, the ELR of the epoch
        is empty.
        """
        return forall(
            implies(s.elr[e][r], ~s.is_enough_in(e)) for e in LeaderEpoch for r in Replica
        )

    # ---- leaders

    @lemma
    def leaders_were_elected(s) -> Bool:
        """A broker that leads was elected in its epoch, and has not stopped since its election."""
        return forall(
            implies(
                s.broker[r].is_leader,
                all_of(
                    s.leads_in(r, s.broker[r].leader_epoch),
                    s.led[s.broker[r].leader_epoch].begun,
                    s.is_up(r),
                ),
            )
            for r in Replica
        )

    @lemma
    def a_leader_has_the_log_of_its_epoch(s) -> Bool:
        """A leader's log is the log that the variable `led` has for the leader's epoch."""
        return forall(
            implies(
                s.broker[r].is_leader,
                s.broker[r].log[x] == s.led[s.broker[r].leader_epoch].log[x],
            )
            for r in Replica
            for x in RecordId
        )

    @lemma
    def a_leadership_is_well_formed(s) -> Bool:
        """The log of an epoch's leader still has all records that the log had when the epoch began.

        This log also has each record that the leader has committed, and has only records that were
        written. The log of an epoch that has not begun is empty.
        """
        return forall(
            all_of(
                implies(s.led[e].start[x] | s.led[e].committed[x], s.led[e].log[x]),
                implies(s.led[e].log[x], s.led[e].begun & s.written[x]),
            )
            for e in LeaderEpoch
            for x in RecordId
        )

    @lemma
    def records_were_written(s) -> Bool:
        """A broker has only records that a leader has written."""
        return forall(implies(s.broker[r].log[x], s.written[x]) for r in Replica for x in RecordId)

    @lemma
    def a_leader_has_reached_its_epoch(s) -> Bool:
        """If an epoch has begun, the leader of the epoch is in this epoch or in a newer one."""
        return forall(
            implies(s.led[e].begun, e <= s.broker[s.leader[e]].leader_epoch) for e in LeaderEpoch
        )

    # ---- the leader's knowledge of the replicas

    @lemma
    def acknowledgements_are_of_reached_epochs(s) -> Bool:
        """Each record that a replica has acknowledged to the leader of an epoch is in this leader's
        log.

        Also, the replica is in this epoch or in a newer one.
        """
        return forall(
            implies(
                s.led[e].acknowledged[r][x],
                s.led[e].log[x] & (e <= s.broker[r].leader_epoch),
            )
            for e in LeaderEpoch
            for r in Replica
            for x in RecordId
        )

    @lemma
    def a_leader_that_commits_waits_for_every_member(s) -> Bool:
        """If the leader of an epoch may commit, its maximal ISR includes every member (`is_member`)
        of the epoch.

        The leader commits a record only when all replicas in its maximal ISR have acknowledged it.
        """
        return forall(
            implies(
                all_of(s.led[e].begun, s.is_member(e, r), s.is_enough_for_leader(e)),
                s.led[e].maximal_isr[r],
            )
            for e in LeaderEpoch
            for r in Replica
        )

    @lemma
    def proposals_are_of_the_known_isr(s) -> Bool:
        """A leader that proposes to add a replica to the ISR commits only records that this replica
        has acknowledged.

        Also, if this leader is the leader of the newest epoch, it knows the present ISR.
        """
        return forall(
            implies(
                s.led[e].proposed[r],
                all_of(
                    s.led[e].begun,
                    s.led[e].maximal_isr[r],
                    implies(e == s.newest, s.led[e].isr[f] == s.isr[e][f]),
                ),
            )
            for e in LeaderEpoch
            for r in Replica
            for f in Replica
        )

    @lemma
    def proposed_replicas_have_caught_up(s) -> Bool:
        """A replica that the newest leader proposes for the ISR has acknowledged each record that
        this leader has committed.

        The replica has also acknowledged each record that this leader had when its epoch began.
        """
        return forall(
            implies(
                all_of(
                    s.led[s.newest].proposed[r],
                    s.replicas[r],
                    s.led[s.newest].start[x] | s.led[s.newest].committed[x],
                ),
                s.led[s.newest].acknowledged[r][x],
            )
            for r in Replica
            for x in RecordId
        )

    @lemma
    def proposed_replicas_have_the_epoch(s) -> Bool:
        """A replica that the newest leader proposes for the ISR is in the newest leader epoch."""
        return forall(
            implies(s.led[s.newest].proposed[r], s.broker[r].leader_epoch == s.newest)
            for r in Replica
        )

    # ---- members

    @lemma
    def stopped_brokers_are_unclean(s) -> Bool:
        """A broker that is stopped is in the set of brokers that have stopped uncleanly."""
        return forall(implies(s.broker[r].is_stopped, s.unclean[r]) for r in Replica)

    @lemma
    def starting_brokers_are_no_members(s) -> Bool:
        """In the leader epoch of a starting broker and in all larger epochs, the broker is not a
        member (`is_member`).

        In these epochs, no leader proposes to add the broker to the ISR.
        """
        return forall(
            implies(
                s.broker[r].is_starting & (s.broker[r].leader_epoch <= e),
                ~s.is_member(e, r) & ~s.led[e].proposed[r],
            )
            for r in Replica
            for e in LeaderEpoch
        )

    @lemma
    def members_keep_what_they_acknowledged(s) -> Bool:
        """A member of an epoch still has the records that it acknowledged in this epoch, until the
        member enters a later epoch.

        A replica that the newest leader proposes for the ISR also has the records that it
        acknowledged to this leader.
        """
        return forall(
            implies(
                all_of(
                    any_of(
                        s.is_member(e, r),
                        all_of(s.led[e].proposed[r], e == s.newest, s.replicas[r]),
                    ),
                    s.broker[r].leader_epoch <= e,
                    s.led[e].acknowledged[r][x],
                ),
                s.broker[r].log[x],
            )
            for e in LeaderEpoch
            for r in Replica
            for x in RecordId
        )

    @lemma
    def members_acknowledged_what_is_committed(s) -> Bool:
        """Every member (`is_member`) of an epoch has acknowledged each record that the epoch's
        leader has committed.
        """
        return forall(
            implies(s.led[e].committed[x] & s.is_member(e, r), s.led[e].acknowledged[r][x])
            for e in LeaderEpoch
            for r in Replica
            for x in RecordId
        )

    @lemma
    def members_come_from_older_epochs(s) -> Bool:
        """A member of an epoch is a member of each older epoch that is not superseded."""
        return forall(
            implies(
                all_of(s.is_member(e, r), s.elected[old], old < e),
                s.is_member(old, r) | s.is_superseded(old),
            )
            for e in LeaderEpoch
            for r in Replica
            for old in LeaderEpoch
        )

    @lemma
    def a_begun_epoch_supersedes(s) -> Bool:
        """If the leader of an epoch has begun to lead, each earlier epoch is superseded
        (`is_superseded`).
        """
        return forall(
            implies(all_of(s.led[e].begun, s.elected[old], old < e), s.is_superseded(old))
            for e in LeaderEpoch
            for old in LeaderEpoch
        )

    # ---- complete logs

    @lemma
    def an_epochs_log_is_complete(s) -> Bool:
        """When a leader begins to lead, it has every record that an older leader has committed
        or may still commit.
        """
        return forall(
            implies(
                all_of(s.led[e].begun, old < e, s.led[old].log[x]),
                s.led[e].start[x] | s.is_blocked(old, x),
            )
            for e in LeaderEpoch
            for old in LeaderEpoch
            for x in RecordId
        )

    @lemma
    def a_members_log_is_complete(s) -> Bool:
        """A member (`is_member`) of an epoch has every record that a leader of this epoch or of an
        earlier epoch has committed. This holds until the member moves to a newer epoch.

        If the member lacks another record of such a leader, the leader can never commit the record
        (`is_blocked`), or must first receive the member's acknowledgement.
        """
        return forall(
            implies(
                all_of(
                    s.is_member(e, r),
                    s.broker[r].leader_epoch <= e,
                    old <= e,
                    s.led[old].log[x],
                ),
                any_of(
                    (old <= s.broker[r].leader_epoch) & s.broker[r].log[x],
                    s.is_blocked(old, x),
                    all_of(
                        s.is_member(old, r),
                        s.broker[r].leader_epoch <= old,
                        ~s.led[old].acknowledged[r][x],
                    ),
                ),
            )
            for e in LeaderEpoch
            for r in Replica
            for old in LeaderEpoch
            for x in RecordId
        )
