"""The actions of the spec `replication-abstract`: controller, replicas, followers, leaders,
restarts.

A deposed leader may still commit records that all members of its ISR have fetched. A member that
has moved to a newer leader epoch fetches no more from the deposed leader. So the deposed leader
cannot commit a record that this member has not fetched. For each leader epoch, the history variable
`departure` stores the smallest offset up to which such a member has fetched. Only the lemmas in
`proof.py` read this variable.

The table lists all actions (`Next` in TLA+). No action is fair, because the proof covers only
safety.

    controller   elect, elect_nobody, shrink_isr, refuse, expand_isr
    replicas     become_leader, become_follower, restart
    followers    truncate, fetch_request, fetch_response, follower_high_watermark
    leaders      append, advance_high_watermark, propose_member, drop_member
"""

from __future__ import annotations

from model.language import (
    Bool,
    action,
    all_of,
    any_of,
    false,
    forall,
    greatest_of,
    implies,
    ite,
    true,
    when,
)
from model.replication_abstract.state import (
    AbstractReplicationState,
    Departure,
    Entry,
    LeaderEpoch,
    Message,
    Offset,
    Replica,
)


class AbstractReplicationActions(AbstractReplicationState):
    # ---- the controller

    def leads_in(s, r: Replica, e: LeaderEpoch) -> Bool:
        """Returns True if the controller chose the replica `r` as the leader of the epoch `e`."""
        return (s.leader[e] == r) & ~s.vacant[e]

    @action
    def elect(s, leader: Replica, newer: LeaderEpoch) -> None:
        """The controller begins a larger leader epoch, with a member of the ISR as leader.

        Kafka: PartitionChangeBuilder.electLeader.
        Simplified: an election may happen at any time, and there is no ELR.
        Without the guard that the new leader is in the ISR, the claim `isr_has_what_is_committed`
        breaks in 8 steps.
        """
        members = s.isr[s.newest]
        when(s.newest < newer, members[leader])
        s.elected[newer] = true
        s.leader[newer] = leader
        s.first_isr[newer] = members
        s.isr[newer] = members
        s.newest = newer

    @action
    def elect_nobody(s, newer: LeaderEpoch) -> None:
        """The controller begins a larger leader epoch without a leader, because no member of the
        ISR can lead.

        Kafka: PartitionChangeBuilder.electLeader, when no member of the ISR is alive.
        Simplified: this step may happen at any time.
        Without the guard that the epoch is larger, the claim `isr_has_what_is_committed` breaks in
        8 steps.
        """
        when(s.newest < newer)
        members = s.isr[s.newest]
        s.elected[newer] = true
        s.vacant[newer] = true
        s.first_isr[newer] = members
        s.isr[newer] = members
        s.newest = newer

    @action
    def shrink_isr(s, out: Replica) -> None:
        """The controller removes from the ISR a replica that does not lead. In the same step, the
        controller refuses the leader's pending proposals to add replicas.

        Kafka: ReplicationControlManager.handleBrokerFenced and alterPartition.
        Simplified: this step may happen at any time.
        Every claim also holds without the guard of this action.
        """
        when(~s.leads_in(out, s.newest))
        s.isr[s.newest][out] = False
        for r in Replica:
            s.led[s.newest].proposed[r] = False

    @action
    def refuse(s) -> None:
        """The controller refuses the leader's proposals to add replicas to the ISR.

        Kafka: ReplicationControlManager.validateAlterPartitionData.
        Simplified: the controller may refuse for any reason, so the action needs no guard.
        """
        for r in Replica:
            s.led[s.newest].proposed[r] = False

    @action
    def expand_isr(s, added: Replica) -> None:
        """The controller accepts the leader's proposal to add a replica to the ISR.

        Kafka: ReplicationControlManager.alterPartition.
        Simplified: a proposal adds one replica.
        Without the guard that the leader has proposed the replica, the claim
        `isr_has_what_is_committed` breaks in 5 steps.
        """
        when(s.led[s.newest].proposed[added])
        s.isr[s.newest][added] = True
        for r in Replica:
            s.led[s.newest].proposed[r] = False

    # ---- replicas after an election

    def depart(s, r: Replica, newer: LeaderEpoch) -> None:
        """Updates the history variable `departure` when the replica `r` moves to the leader epoch
        `newer`.
        """
        for e in LeaderEpoch:
            had, fetched = s.departure[e], s.led[e].fetched[r]
            is_first = all_of(
                s.elected[e],
                s.replica[r].leader_epoch <= e,
                e < newer,
                s.isr[e][r],
                ~had.happened | (fetched < had.bound),
            )
            s.departure[e] = ite(is_first, Departure(happened=true, bound=fetched, member=r), had)

    @action
    def become_leader(s, r: Replica, newer: LeaderEpoch) -> None:
        """A replica begins to lead with its own log. Its maximal ISR is the ISR that the election
        announced.

        Kafka: Partition.makeLeader.
        Simplified: the replica may learn of its election at any later time.
        Without the guard that the controller chose this replica, the claim
        `isr_has_what_is_committed` breaks in 6 steps.
        """
        when(s.elected[newer], s.leads_in(r, newer), s.replica[r].leader_epoch < newer)
        s.depart(r, newer)
        log = s.replica[r]
        s.led[newer].begun = true
        s.led[newer].start_offset = log.end_offset
        s.led[newer].end_offset = log.end_offset
        s.led[newer].high_watermark = log.high_watermark
        s.led[newer].entry = log.entry
        s.on_leading(r, newer)
        s.led[newer].fetched[r] = log.end_offset
        s.led[newer].maximal_isr = s.first_isr[newer]
        s.replica[r].leader_epoch = newer
        s.replica[r].is_leader = true

    def on_leading(s, r: Replica, newer: LeaderEpoch) -> None:
        """Does nothing, because each leader epoch has its own fetched offsets. At the start of an
        epoch, no follower has fetched.

        In Kafka, a leader keeps the fetched offsets of an earlier epoch in which it led, even if
        another replica led in between. Then the claim `isr_has_what_is_committed` breaks in 12
        steps; see `docs/findings/keeps_old_fetches.py`.
        """

    @action
    def become_follower(s, r: Replica, newer: LeaderEpoch) -> None:
        """A replica follows a newer leader, and keeps its log until a fetch finds a divergence.

        Kafka: Partition.makeFollower.
        Simplified: the replica may learn of the leader at any later time.
        If the replica truncated its log to its high watermark instead, the claim
        `isr_has_what_is_committed` would break (bug `truncates-at-hw`, 6 steps).

        Without the guard that the leader epoch is newer, the claim `isr_has_what_is_committed`
        breaks in 8 steps.
        """
        when(s.elected[newer], ~s.leads_in(r, newer), s.replica[r].leader_epoch < newer)
        s.depart(r, newer)
        s.on_following(r)
        s.replica[r].leader_epoch = newer
        s.replica[r].is_leader = false

    def on_following(s, r: Replica) -> None:
        """Changes nothing, because a new follower keeps its log. The bug `truncates-at-hw` replaces
        this method.
        """

    # ---- followers

    def agrees(s, r: Replica, offset: Offset) -> Bool:
        """Returns True if the replica `r` and the leader of its epoch both have a record of the
        same leader epoch at the offset.
        """
        led = s.led[s.replica[r].leader_epoch]
        return all_of(
            offset < led.end_offset,
            s.replica[r].entry[offset].leader_epoch == led.entry[offset].leader_epoch,
        )

    def may_fetch(s, r: Replica, latest: Offset) -> Bool:
        """Returns True if the follower's log is empty, or if `latest` is the offset of the
        follower's last record and the leader has this record.
        """
        return any_of(
            s.replica[r].end_offset == Offset.least(),
            s.replica[r].end_offset.is_next_after(latest) & s.agrees(r, latest),
        )

    def follows(s, r: Replica) -> Bool:
        """Returns True if the replica is a follower, and the leader of the replica's epoch has
        begun to lead.
        """
        return ~s.replica[r].is_leader & s.led[s.replica[r].leader_epoch].begun

    @action
    def truncate(s, r: Replica, end: Offset) -> None:
        """A follower truncates its log. The leader's log contains none of the removed records.

        Kafka: AbstractFetcherThread.truncateOnFetchResponse.
        Simplified: the follower may also remove fewer records than the leader lacks.
        Without the guard that the leader has none of the removed records, the claim
        `isr_has_what_is_committed` breaks in 5 steps.
        """
        when(
            s.follows(r),
            end < s.replica[r].end_offset,
            forall(
                implies((end <= o) & (o < s.replica[r].end_offset), ~s.agrees(r, o)) for o in Offset
            ),
        )
        s.replica[r].end_offset = end

    @action
    def fetch_request(s, r: Replica, latest: Offset) -> None:
        """A follower fetches, and the leader learns the end offset of the follower's log.

        Kafka: Partition.updateFollowerFetchState.
        Simplified: the leader learns the offset in the same step.
        Without the guard that the leader has the follower's last record, the claim
        `isr_has_what_is_committed` breaks in 7 steps.
        """
        when(s.follows(r), s.may_fetch(r, latest))
        s.led[s.replica[r].leader_epoch].fetched[r] = s.replica[r].end_offset

    @action
    def fetch_response(s, r: Replica, latest: Offset, end: Offset) -> None:
        """A follower appends the leader's next record from a fetch response.

        Kafka: ReplicaFetcherThread.processPartitionData.
        Simplified: the response has one record. The follower reads the leader's log when the
        response arrives.
        At the default constants, every claim also holds without the guard of this action.
        """
        at = s.replica[r].end_offset
        led = s.led[s.replica[r].leader_epoch]
        when(s.follows(r), s.may_fetch(r, latest), at < led.end_offset, end.is_next_after(at))
        s.replica[r].entry[at] = led.entry[at]
        s.replica[r].end_offset = end

    @action
    def follower_high_watermark(s, r: Replica, latest: Offset, mark: Offset) -> None:
        """A follower adopts the present or an earlier high watermark of its leader.

        Kafka: ReplicaFetcherThread.processPartitionData.
        Simplified: this is a separate step, and the follower's high watermark may also fall.
        Without the guard that the high watermark is at most the end of the follower's log, the
        claim `high_watermarks_are_committed` breaks in 5 steps.
        """
        led = s.led[s.replica[r].leader_epoch]
        when(
            s.follows(r),
            s.may_fetch(r, latest),
            mark <= led.high_watermark,
            mark <= s.replica[r].end_offset,
        )
        s.replica[r].high_watermark = mark

    # ---- leaders

    @action
    def append(s, r: Replica, message: Message, end: Offset) -> None:
        """A replica that believes that it leads appends a record.

        Kafka: Partition.appendRecordsToLeader.
        Simplified: the replica appends one record.
        Without the guard that the replica believes that it leads, the claim
        `isr_has_what_is_committed` breaks in 6 steps.
        """
        at, own = s.replica[r].end_offset, s.replica[r].leader_epoch
        when(s.replica[r].is_leader, end.is_next_after(at))
        entry = Entry(leader_epoch=own, message=message)
        s.replica[r].entry[at] = entry
        s.replica[r].end_offset = end
        s.led[own].entry[at] = entry
        s.led[own].end_offset = end
        s.led[own].fetched[r] = end

    def needs_fetches_up_to(s, r: Replica, mark: Offset) -> None:
        """Adds the guards of a commit up to `mark`. The replica `r` must lead, with a high
        watermark below `mark`. Its log must reach `mark`, and every member of its maximal ISR must
        have fetched up to `mark`.

        The maximal ISR of a leader includes the ISR and the replicas that the leader has proposed
        as members.
        """
        led = s.led[s.replica[r].leader_epoch]
        when(
            s.replica[r].is_leader,
            led.high_watermark < mark,
            mark <= led.fetched[r],
            forall(mark <= led.fetched[f] for f in led.maximal_isr),
        )

    @action
    def advance_high_watermark(s, r: Replica, mark: Offset) -> None:
        """A leader commits the records that every member of its maximal ISR has fetched in the
        leader's epoch.

        The maximal ISR of a leader includes the ISR and the replicas that the leader has proposed
        as members.

        Kafka: Partition.maybeIncrementLeaderHW.
        Simplified: min.insync.replicas is 1.
        Without the guard that the members have fetched the records, the claim
        `isr_has_what_is_committed` breaks in 2 steps.
        """
        s.needs_fetches_up_to(r, mark)
        own = s.replica[r].leader_epoch
        old_end = s.committed_end
        for o in Offset:
            is_new = (old_end <= o) & (o < mark)
            is_older = (o < mark) & (own < s.committed_by[o])
            s.committed[o] = ite(is_new, s.replica[r].entry[o], s.committed[o])
            s.committed_by[o] = ite(is_new | is_older, own, s.committed_by[o])
        s.committed_end = greatest_of(old_end, mark)
        s.replica[r].high_watermark = mark
        s.led[own].high_watermark = mark

    def may_join(s, f: Replica, own: LeaderEpoch) -> Bool:
        """Returns True if the follower `f` has fetched up to two offsets of the leader of the epoch
        `own`: the leader's high watermark and the leader's start offset.

        The start offset is the end of the leader's log when the leader's epoch began. Without the
        comparison with the start offset, the claim `isr_has_what_is_committed` breaks (bug
        `joins-at-hw`, 9 steps; KAFKA-7128).
        """
        led = s.led[own]
        return (led.high_watermark <= led.fetched[f]) & (led.start_offset <= led.fetched[f])

    @action
    def propose_member(s, r: Replica, f: Replica) -> None:
        """A leader proposes to add a follower to the ISR. From now on, the leader commits no record
        that this follower has not fetched.

        Kafka: Partition.maybeExpandIsr.
        Simplified: a proposal adds one follower.
        Without the comparison with the high watermark in `may_join`, the claim
        `isr_has_what_is_committed` breaks in 6 steps.
        """
        own = s.replica[r].leader_epoch
        when(s.replica[r].is_leader, ~s.led[own].maximal_isr[f], s.may_join(f, own))
        s.led[own].maximal_isr[f] = True
        s.led[own].proposed[f] = True

    @action
    def drop_member(s, r: Replica, f: Replica) -> None:
        """A leader removes a replica from its maximal ISR. The replica is neither in the
        controller's ISR nor proposed as a member.

        Kafka: Partition.handleAlterPartitionUpdate.
        Simplified: the leader reads the controller's ISR.
        Without the guard that the replica is outside the controller's ISR, the claim
        `isr_has_what_is_committed` breaks in 3 steps.
        """
        own = s.replica[r].leader_epoch
        when(s.replica[r].is_leader, f != r, ~s.isr[own][f], ~s.led[own].proposed[f])
        s.led[own].maximal_isr[f] = False

    # ---- crashes

    @action
    def restart(s, r: Replica, mark: Offset) -> None:
        """A replica restarts with its whole log and an older high watermark, and does not lead.

        Kafka: a process that was killed reads its high watermark from
        replication-offset-checkpoint.
        Simplified: the high watermark may fall to any earlier value.
        If the end of the log is lost, the claim `isr_has_what_is_committed` breaks (bug
        `loses-its-tail`, 5 steps).
        """
        when(mark <= s.replica[r].high_watermark)
        s.on_restart(r, mark)
        s.replica[r].high_watermark = mark
        s.replica[r].is_leader = false

    def on_restart(s, r: Replica, mark: Offset) -> None:
        """Changes nothing, because a restarted replica keeps its log. The bug `loses-its-tail`
        replaces this method.
        """
