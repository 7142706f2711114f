"""The lemmas that two logs are equal up to each record that both logs have.

The log of a leader epoch is the log of the leader that leads in this epoch, and this log only
grows. If another log has a record of the epoch, the two logs are equal up to this record (the
lemmas whose names end in `_prefix`). So if two logs have a record of the same epoch at an offset,
they are equal at every lower offset.

The lemmas at the end of the class are about fetches. While a replica stays in an epoch, it keeps
the records that it has fetched in this epoch.
"""

from __future__ import annotations

from model.language import Bool, all_of, forall, implies, lemma
from model.replication_abstract.claims import AbstractReplication
from model.replication_abstract.state import LeaderEpoch, Offset, Replica


class SharedHistory(AbstractReplication):
    # ---- predicates

    def same_as_epoch(s, r: Replica, e: LeaderEpoch, o: Offset) -> Bool:
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
        """A leader begins to lead only in a leader epoch that the controller has started, and every
        replica is in such an epoch.
        """
        return all_of(
            s.elected[s.newest],
            forall(implies(s.elected[e], e <= s.newest) for e in LeaderEpoch),
            forall(implies(s.led[e].begun, s.elected[e]) for e in LeaderEpoch),
            forall(s.elected[s.replica[r].leader_epoch] for r in Replica),
        )

    @lemma
    def an_epoch_that_began_was_reached(s) -> Bool:
        """A leader that has begun to lead in an epoch is now in this epoch, or in a larger one."""
        return forall(
            implies(s.led[e].begun, e <= s.replica[s.leader[e]].leader_epoch) for e in LeaderEpoch
        )

    @lemma
    def leaders_were_elected(s) -> Bool:
        """If a replica leads, the controller elected it for the replica's leader epoch, and the
        variable `led` shows that this epoch has begun.
        """
        return forall(
            implies(
                s.replica[r].is_leader,
                (s.leader[s.replica[r].leader_epoch] == r) & s.led[s.replica[r].leader_epoch].begun,
            )
            for r in Replica
        )

    @lemma
    def a_leader_is_its_leadership(s) -> Bool:
        """The variable `led` has the present end offset and the present high watermark of each
        leader.

        In `led`, the fetched offset of the leader itself is the end of its log.
        """
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
        """A leader's log equals the log that the variable `led` stores for the leader's epoch."""
        return forall(
            implies(
                s.replica[r].is_leader & s.in_log(r, o),
                s.same_as_epoch(r, s.replica[r].leader_epoch, o),
            )
            for r in Replica
            for o in Offset
        )

    # ---- logs are prefixes of one history

    @lemma
    def records_come_from_their_epoch(s) -> Bool:
        """For every record in a log, the leader that appended it has a record of the same leader
        epoch at the same offset.
        """

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
        """If the log of an epoch's leader has a record of an earlier epoch, the leaders of both
        epochs have the same log up to this record.
        """
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
        """If a replica has a record, its log is equal, up to this record, to the log of the leader
        that appended the record.

        The lemma is true because each fetch compares the follower's last record with the leader's
        record at the same offset.
        """
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
        """The start offset and the high watermark of a leader are not beyond the end of its log."""
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
        """In the log of an epoch's leader, the records below the epoch's start offset have earlier
        epochs. All records from the start offset on have this epoch.
        """
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

    # ---- fetches

    @lemma
    def fetchers_have_the_epoch(s) -> Bool:
        """A replica that has fetched in a leader epoch is in this epoch or in a newer epoch.

        In addition, the replica has fetched nothing beyond the end of the log of this epoch's
        leader.
        """
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
        """While a replica stays in an epoch, it has every record up to the offset that it reported
        as fetched in this epoch.
        """
        return forall(
            implies(
                s.led[s.replica[r].leader_epoch].begun
                & (o < s.led[s.replica[r].leader_epoch].fetched[r]),
                s.in_log(r, o) & s.same_as_epoch(r, s.replica[r].leader_epoch, o),
            )
            for r in Replica
            for o in Offset
        )
