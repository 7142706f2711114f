"""Elections with a controller that fails: its changes are first appended to a metadata log, and
then committed.

The controller decides by its newest state, which includes changes that are appended but not
committed yet. Brokers learn only committed changes. A controller that fails loses the changes that
are not committed, and the next controller continues from the committed changes. So the controller
answers a request only after it has committed the change that the answer reports. This version
assumes that committed changes are not lost. In the spec `quorum`, this is a claim.

In this version, `partition_registration` and `registration` are the controller's newest state, so
each action of the controller appends its change to the log. The version adds two actions:

    controller   WF commit_changes, fail_over

Source: QuorumController (ControllerWriteEvent, renounce) and OffsetControlManager of Kafka 4.3;
KIP-595, KIP-631.
Simplified: all appended changes are committed at once. A broker does not stop while it registers. A
broker that shuts down may stop before its fencing is committed.
"""

from __future__ import annotations

from typing import Annotated

from model.election.state import (
    Faults,
    LeaderEpoch,
    PartitionState,
    Registration,
    Replica,
)
from model.election.versions import Election
from model.language import (
    Bool,
    Map,
    Nothing,
    Record,
    Scope,
    action,
    all_of,
    everything,
    forall,
    iff,
    implies,
    invariant,
    ite,
    when,
    witness,
)
from model.releases import LATEST, kafka
from model.variants import version


class Dropped(Record):
    """The newest leader epoch that a failover of the controller has dropped, and the leader of
    this epoch.
    """

    leader: Replica | Nothing
    leader_epoch: LeaderEpoch


@version(
    "controller-failover",
    in_force=kafka("3.3", LATEST, needs="a controller that fails"),
)
class ControllerFailover(Election):
    """Kafka 4.3 with a controller that fails: brokers learn only committed changes, and the next
    controller continues from the committed changes.
    """

    max_failovers: Annotated[int, range(5)] = 1

    committed_partition: PartitionState
    committed_registration: Map[Replica, Registration]
    failovers: Faults  # each has dropped a change
    dropped: Dropped

    def scope(s) -> Scope:
        """Returns the default scope. In this version, the type `Faults` also counts failovers of
        the controller.
        """
        faults = max(s.max_unclean, s.max_losses, s.max_disruptions, s.max_failovers)
        return {**super().scope(), Faults: range(faults + 1)}

    def init(s) -> None:
        super().init()
        s.committed_partition.leader = Replica.least()
        s.committed_partition.leader_epoch = LeaderEpoch(0)
        s.committed_partition.isr = everything(Replica)

    # ---- what is committed

    def is_partition_committed(s) -> Bool:
        newest, committed = s.partition_registration, s.committed_partition
        return all_of(
            newest.leader == committed.leader,
            newest.leader_epoch == committed.leader_epoch,
            newest.isr == committed.isr,
            newest.elr == committed.elr,
            newest.last_known == committed.last_known,
        )

    def is_registering(s, r: Replica) -> Bool:
        """Returns True if the broker's newest registration is appended but not committed."""
        return s.committed_registration[r].broker_epoch < s.registration[r].broker_epoch

    def is_everything_committed(s) -> Bool:
        return s.is_partition_committed() & forall(
            iff(s.registration[r].fenced, s.committed_registration[r].fenced) & ~s.is_registering(r)
            for r in Replica
        )

    # ---- the metadata log

    @action(fair="weak")
    def commit_changes(s) -> None:
        """The controller commits the appended changes. A broker starts if one of these changes is
        its registration.

        Kafka: OffsetControlManager.handleCommitBatch. QuorumController then completes the deferred
        events.
        Simplified: all appended changes are committed at once.

        Every claim also holds without the guard that a change is appended.
        """
        when(~s.is_everything_committed())
        changes = ~s.is_partition_committed()
        for r in Replica:
            starts = s.starts_with_commit(r)
            s.broker[r].is_up = s.broker[r].is_up | starts
            s.broker[r].stopped_cleanly = s.broker[r].stopped_cleanly & ~starts
            s.broker[r].is_current = s.broker[r].is_current & ~changes
        s.committed_partition = s.partition_registration
        s.committed_registration = s.registration

    @action
    def fail_over(s) -> None:
        """The controller fails, and the next controller continues from the committed changes.

        Kafka: QuorumController.renounce fails the deferred events, and
        OffsetControlManager.deactivate returns to the last committed state.
        Simplified: the constant `max_failovers` limits the number of failovers, and each failover
        drops all changes that are not committed. In Kafka, such a change may survive in the log of
        the next controller; in the spec, this change is committed before the failover.
        """
        when(~s.is_everything_committed(), s.failovers < s.max_failovers)
        newest, dropped = s.partition_registration, s.dropped
        elects = s.committed_partition.leader_epoch < newest.leader_epoch
        s.dropped.leader = ite(elects, newest.leader, dropped.leader)
        s.dropped.leader_epoch = ite(elects, newest.leader_epoch, dropped.leader_epoch)
        s.partition_registration = s.committed_partition
        s.registration = s.committed_registration
        s.failovers = s.failovers + 1

    # ---- what brokers learn

    def published_partition(s) -> PartitionState:
        """Returns the committed state of the partition.

        If brokers learn changes that are appended and not yet committed, the claim
        `leader_completeness` breaks (bug `publishes-uncommitted`, 5 steps).
        """
        return s.committed_partition

    def published_registration(s, r: Replica) -> Registration:
        """Returns the committed registration of the broker `r`, which leaders learn.

        The controller checks the broker epoch of a replica that joins the ISR. It may use this
        registration, because a broker that is alive has no newer one.
        """
        return s.committed_registration[r]

    def is_still_current(s, r: Replica, changes: Bool) -> Bool:
        """Returns True if the leader `r` has the partition epoch of the last committed change of
        the partition. The argument `changes` has no effect, because a change that is only appended
        does not alter this partition epoch.
        """
        return s.broker[r].is_current

    # ---- what is answered after a commit

    def start(s, r: Replica) -> None:
        """Does nothing: a broker starts when its registration is committed.

        If the broker starts earlier, the claim `leader_completeness` breaks (bug
        `starts-uncommitted`, 8 steps).
        """

    def starts_with_commit(s, r: Replica) -> Bool:
        return s.is_registering(r)

    @action(fair="weak")
    def register(s, r: Replica) -> None:
        """A stopped broker registers with the next broker epoch. After an unclean stop, it leaves
        the ELR.

        Kafka: ClusterControlManager.registerBroker, which does not change the broker epoch if the
        same incarnation of the broker registers again.
        Simplified: the simplifications of this action in the version `kafka-4.1` apply.

        Without the guard that the broker is fenced, the claim `leader_completeness` breaks in 7
        steps.
        """
        when(~s.is_registering(r))
        super().register(r)

    @action
    def replace_disk(s, r: Replica) -> None:
        """A stopped broker receives an empty disk, which lacks the file that marks a clean
        shutdown.

        Kafka: the operator replaces the disk.
        Simplified: the simplifications of this action in the version `kafka-4.1` apply.

        Without the guard that no registration of the broker is pending, the claim
        `candidate_completeness` breaks in 8 steps.
        """
        when(~s.is_registering(r))
        super().replace_disk(r)

    @action(fair="weak")
    def grant_isr(s, leader: Replica) -> None:
        """The controller accepts the leader's AlterPartition request. The leader does not know this
        yet.

        Kafka: ReplicationControlManager.alterPartition. It refuses the request while a change of
        the partition is appended but not committed, because the leader's partition epoch is then
        old.
        Simplified: the simplifications of this action in the version `kafka-4.1` apply.

        Every claim also holds without the guard that all changes of the partition are committed.
        """
        when(s.is_partition_committed())
        super().grant_isr(leader)

    @action(fair="weak")
    def refuse_isr(s, leader: Replica) -> None:
        """The controller refuses an AlterPartition request, and the leader continues with the ISR
        that it knows.

        Kafka: QuorumController.ControllerWriteEvent, which delays a refusal until all earlier
        changes are committed.
        Simplified: the simplifications of this action in the version `kafka-4.1` apply.

        This action refuses for other reasons than an old partition epoch. Every claim also holds if
        such a refusal does not wait for the commit. But the refusal of an old partition epoch must
        wait: otherwise, the claim `requests_are_answered` breaks (bug `answers-uncommitted`, 8
        steps).
        """
        when(s.is_everything_committed())
        super().refuse_isr(leader)

    # ---- claims

    @invariant
    def leaders_know_what_is_committed(s) -> Bool:
        """No broker knows a leader epoch that is not committed. If a leader has the committed
        partition epoch, the leader knows the committed ISR.

        So a failover of the controller drops no ISR that a leader uses.
        """
        return forall(
            all_of(
                s.broker[r].leader_epoch <= s.committed_partition.leader_epoch,
                implies(
                    s.presumes_leadership(r) & s.broker[r].is_current,
                    s.broker[r].isr == s.committed_partition.isr,
                ),
            )
            for r in Replica
        )

    @witness
    def the_next_controller_decides_otherwise(s) -> Bool:
        """Reachable: a failover has dropped an election, and the next controller has begun the
        same leader epoch with another leader or without a leader.
        """
        committed = s.committed_partition
        return all_of(
            s.dropped.leader_epoch == committed.leader_epoch,
            s.dropped.leader != committed.leader,
        )
