"""The actions of the brokers, and a table of all actions. The other actions are in
`registration.py`.

The table lists all actions (`Next` in TLA+). No action is fair, because only safety is proved.

    controller   elect, elect_nobody, elect_eligible, shrink_isr, expand_isr, refuse_member
    operator     add_replica, remove_replica, replace_replica, complete_reassignment,
                 finish_adding, cancel_reassignment, cancel_removal
    brokers      become_leader, become_follower, delete_replica
    leaders      learn_isr, append, commit, propose_member
    followers    copy, truncate, acknowledge
    failures     stop_uncleanly, register, lose, start
"""

from __future__ import annotations

from model.language import Bool, Map, action, all_of, false, forall, implies, true, when
from model.reassignment_abstract.registration import Registration
from model.reassignment_abstract.state import Disturbance, LeaderEpoch, RecordId, Replica


class AbstractPartitionActions(Registration):
    def is_up(s, r: Replica) -> Bool:
        return ~s.broker[r].is_stopped & ~s.broker[r].is_starting

    # ---- metadata

    @action
    def become_leader(s, r: Replica, newer: LeaderEpoch) -> None:
        """A broker begins to lead in the epoch for which it was elected, with the log that it has.

        Kafka: Partition.makeLeader.
        Simplified: the broker may learn of its election at any later time.

        Without the guard that the controller elected this broker, the claim
        `eligible_replicas_have_committed_records` breaks in 7 steps.
        """
        when(
            s.is_up(r),
            s.elected[newer] & s.leads_in(r, newer),
            s.broker[r].leader_epoch < newer,
        )
        s.broker[r].leader_epoch = newer
        s.broker[r].is_leader = true
        s.led[newer].begun = true
        for x in RecordId:
            has = s.broker[r].log[x]
            s.led[newer].start[x] = has
            s.led[newer].log[x] = has
            s.led[newer].acknowledged[r][x] = has
        s.read_isr(newer)

    def read_isr(s, e: LeaderEpoch) -> None:
        for f in Replica:
            member = s.isr[e][f]
            s.led[e].isr[f] = member
            s.led[e].maximal_isr[f] = member
            s.led[e].proposed[f] = False

    @action
    def become_follower(s, r: Replica, newer: LeaderEpoch) -> None:
        """A replica begins to follow the leader of a newer epoch. Its log does not change.

        Kafka: Partition.makeFollower.
        Simplified: the replica may learn of the leader at any later time.

        Without the guard that the leader epoch is newer, the claim
        `leaders_begin_with_committed_records` breaks in 7 steps.
        """
        when(
            s.is_up(r),
            s.replicas[r],
            s.elected[newer] & ~s.leads_in(r, newer),
            s.broker[r].leader_epoch < newer,
        )
        s.broker[r].leader_epoch = newer
        s.broker[r].is_leader = false

    @action
    def delete_replica(s, r: Replica) -> None:
        """A broker learns that it is not a replica any more, and deletes its log.

        Kafka: ReplicaManager.stopPartitions with deletion.
        Simplified: this may happen at any later time, while the broker is not a replica.

        Without the guard that the broker is not a replica, the claim
        `eligible_replicas_have_committed_records` breaks in 5 steps.
        """
        when(s.is_up(r), ~s.replicas[r])
        s.broker[r].leader_epoch = s.newest
        s.broker[r].is_leader = false
        for x in RecordId:
            s.broker[r].log[x] = False

    # ---- leaders

    @action
    def learn_isr(s, r: Replica) -> None:
        """The leader of the newest epoch learns the present ISR.

        Kafka: Partition.makeLeader, in the same leader epoch.
        """
        when(s.broker[r].is_leader, s.broker[r].leader_epoch == s.newest)
        s.read_isr(s.newest)

    @action
    def append(s, r: Replica, x: RecordId) -> None:
        """A broker that considers itself the leader appends a record.

        Kafka: Partition.appendRecordsToLeader.
        """
        own = s.broker[r].leader_epoch
        when(s.broker[r].is_leader, ~s.written[x])
        s.written[x] = True
        s.broker[r].log[x] = True
        s.led[own].log[x] = True
        s.led[own].acknowledged[r][x] = True

    def may_commit(s, e: LeaderEpoch) -> Bool:
        """Returns True if the ISR that the leader knows has at least min.insync.replicas members.

        Kafka: leaders have this rule since release 3.7.

        Without this rule, the claim `eligible_replicas_have_committed_records` breaks (bug
        `commits-below-min-isr`, 4 steps).
        """
        return s.is_enough_for_leader(e)

    def waits_for(s, e: LeaderEpoch, r: Replica) -> Bool:
        """Returns True if the leader of the epoch commits only records that the replica has
        acknowledged.

        Kafka: the maximal ISR, which is the ISR with the replicas that the leader proposes to add.

        If only the known ISR counts, the claim `eligible_replicas_have_committed_records` breaks
        (bug `counts-known-isr`, 7 steps).
        """
        return s.led[e].maximal_isr[r]

    @action
    def commit(s, r: Replica, x: RecordId) -> None:
        """A leader commits a record that every replica of its maximal ISR has acknowledged. The
        leader then acknowledges the record to a producer with acks=all.

        Kafka: Partition.maybeIncrementLeaderHW.
        Simplified: each record is committed in a step of its own.

        Without the guard that these replicas have acknowledged the record, the claim
        `eligible_replicas_have_committed_records` breaks in 2 steps.
        """
        own = s.broker[r].leader_epoch
        when(
            s.broker[r].is_leader,
            s.led[own].log[x],
            s.may_commit(own),
            forall(implies(s.waits_for(own, f), s.led[own].acknowledged[f][x]) for f in Replica),
        )
        s.led[own].committed[x] = True

    # ---- followers

    def follows(s, r: Replica) -> Bool:
        """Returns True if the broker is a follower in an epoch whose leader accepts its fetches.

        The leader of the newest epoch refuses a broker that is not a replica.
        """
        own = s.broker[r].leader_epoch
        return all_of(
            s.led[own].begun & ~s.leads_in(r, own),
            s.replicas[r] | (own != s.newest),
        )

    @action
    def copy(s, r: Replica, x: RecordId) -> None:
        """A follower appends a record of its leader.

        Kafka: ReplicaFetcherThread.processPartitionData.
        Simplified: the follower may append any record of the leader at any time. So the spec needs
        no responses in flight.

        Without the guard that the leader has the record, the lemma `records_were_written` breaks in
        1 step.
        """
        when(s.is_up(r), s.follows(r), s.led[s.broker[r].leader_epoch].log[x])
        s.broker[r].log[x] = True

    @action
    def truncate(s, r: Replica, x: RecordId) -> None:
        """A follower removes a record that its leader lacks.

        Kafka: AbstractFetcherThread.truncateOnFetchResponse.
        Simplified: each step removes one record.

        Without the guard that the leader lacks the record, the claim
        `eligible_replicas_have_committed_records` breaks in 5 steps.
        """
        when(s.is_up(r), s.follows(r), ~s.led[s.broker[r].leader_epoch].log[x])
        s.broker[r].log[x] = False

    def is_same_registration(s, r: Replica) -> Bool:
        """Returns True if the broker `r` has not registered again since it sent its latest fetch.

        Kafka: leaders have this rule since KIP-903.

        Without this rule, the claim `eligible_replicas_have_committed_records` breaks (bug
        `ignores-broker-epochs`, 10 steps).
        """
        return ~s.broker[r].is_starting

    def send_fetch(s, r: Replica) -> None:
        """Lets the leader learn the records of the follower `r` from a fetch. The follower must
        have no record that the leader lacks.

        The follower may have stopped after it sent the fetch. The log of a stopped broker does not
        change, so the fetch still describes the log.
        """
        own = s.broker[r].leader_epoch
        when(
            s.follows(r),
            s.is_same_registration(r),
            forall(implies(s.broker[r].log[x], s.led[own].log[x]) for x in RecordId),
        )
        for x in RecordId:
            s.led[own].acknowledged[r][x] = s.broker[r].log[x]

    @action
    def acknowledge(s, r: Replica) -> None:
        """A follower fetches, and its leader learns which records the follower has.

        Kafka: Partition.updateFollowerFetchState.
        Simplified: the leader learns the records at once. The fetch of a stopped follower may
        arrive until the follower registers again.

        Without the guard that the leader has all records of the follower, the lemma
        `acknowledgements_are_of_reached_epochs` breaks in 5 steps.
        """
        s.send_fetch(r)

    def has_caught_up(s, r: Replica, e: LeaderEpoch) -> Bool:
        """Returns True if the replica has caught up with the leader of the epoch.

        The replica needs every record that this leader has committed, and every record that this
        leader had when the epoch began. Without the first condition, the claim
        `eligible_replicas_have_committed_records` breaks (bug `joins-below-high-watermark`, 7
        steps). Without the second condition, the same claim breaks (bug `joins-before-epoch`, 10
        steps).
        """
        led = s.led[e]
        return forall(
            implies(led.start[x] | led.committed[x], s.broker[r].log[x]) for x in RecordId
        )

    @action
    def propose_member(s, r: Replica) -> None:
        """A follower that has caught up fetches, and its leader requests to add the follower to the
        ISR.

        From this step on, the leader commits only records that the follower has acknowledged.

        Kafka: Partition.maybeExpandIsr.
        Simplified: a leader sends the request only if it knows the present ISR. The controller
        would refuse any other request.

        Without the guard that the follower has caught up, the claim
        `eligible_replicas_have_committed_records` breaks in 7 steps.
        """
        own = s.broker[r].leader_epoch
        when(
            ~s.led[own].isr[r],
            s.has_caught_up(r, own),
            s.knows_the_isr(own),
            forall(~s.led[own].proposed[f] for f in Replica),
        )
        s.send_fetch(r)
        s.led[own].maximal_isr[r] = True
        s.led[own].proposed[r] = True

    # ---- failures

    @action
    def stop_uncleanly(s, r: Replica, stop: Disturbance) -> None:
        """A broker stops without a clean shutdown. It may lose records when it starts again.

        Kafka: a killed process or a power loss.
        Simplified: a clean restart changes nothing in this spec, so it is no action.
        """
        when(true if s.stops_uncleanly else false, ~s.broker[r].is_stopped)
        s.disturb(stop)
        s.broker[r].is_stopped = true
        s.broker[r].is_starting = false
        s.broker[r].is_leader = false
        s.unclean[r] = True

    def excludes_unclean(s, r: Replica) -> Bool:
        """Returns True always: a broker that stopped uncleanly must leave the ISR and the ELR.

        Without this rule, the claim `eligible_replicas_have_committed_records` breaks (bug
        `admits-unclean`, 7 steps; KAFKA-18635).
        """
        return true

    @action
    def register(s, r: Replica) -> None:
        """A broker that stopped uncleanly registers again, and the controller removes it from the
        ISR and the ELR.

        Kafka: ClusterControlManager.registerBroker and
        ReplicationControlManager.handleBrokerShutdown.
        Simplified: the broker applies the newest metadata at once.

        Without the guard that the broker has stopped, the claim `enough_members_remain` breaks in 1
        step.
        """
        now = s.newest
        when(s.broker[r].is_stopped, ~s.leads_in(r, now))
        members, excluded = s.isr[now], s.excludes_unclean(r)
        changes = excluded & (s.isr[now][r] | s.elr[now][r])
        s.write_members(
            now,
            Map(Replica, lambda f: members[f] & ~(excluded & (f == r))),
            Map(Replica, lambda f: excluded & (f == r)),
            s.replicas,
        )
        for f in Replica:
            s.led[now].proposed[f] = s.led[now].proposed[f] & ~changes & (f != r)
        s.broker[r].leader_epoch = now
        s.broker[r].is_stopped = false
        s.broker[r].is_starting = true

    @action
    def lose(s, r: Replica, x: RecordId) -> None:
        """A broker that starts after an unclean stop finds that it has lost a record.

        Kafka: LogLoader. The broker lost a disk, or the end of a log that was not flushed.

        Without the guard that the broker starts after an unclean stop, the claim
        `eligible_replicas_have_committed_records` breaks in 5 steps.
        """
        when(s.broker[r].is_starting, s.broker[r].log[x])
        s.broker[r].log[x] = False

    @action
    def start(s, r: Replica) -> None:
        """A broker that stopped uncleanly has started, and may fetch again.

        Kafka: ReplicaManager.applyLocalFollowersDelta, which starts the fetchers.
        """
        when(s.broker[r].is_starting)
        s.broker[r].is_starting = false
