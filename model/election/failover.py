"""Elections whose controller fails: its changes are appended to a metadata log, then committed.

The controller decides by its newest state, which has changes that are appended and not committed
yet. Brokers learn only committed changes. A controller that fails loses the other changes, and the
next controller continues from the committed ones. So a request is answered only after the change
that answers it is committed. That committed changes stay is an assumption here, and a claim of the
spec `quorum`.

Here `partition_registration` and `registration` are the controller's newest state, so each action
of the controller appends its change to the log. This version has two actions more:

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
    """The newest leader epoch that a failover dropped, and its leader."""

    leader: Replica | Nothing
    leader_epoch: LeaderEpoch


@version(
    "controller-failover",
    in_force=kafka("3.3", LATEST, needs="a controller that fails"),
)
class ControllerFailover(Election):
    """Kafka 4.3 with a controller that fails: it appends each change to a metadata log, brokers
    learn committed changes, and the next controller continues from these.
    """

    max_failovers: Annotated[int, range(5)] = 1

    committed_partition: PartitionState
    committed_registration: Map[Replica, Registration]
    failovers: Faults  # each has dropped a change
    dropped: Dropped

    def scope(s) -> Scope:
        """Returns the size of each type: `Faults` also counts failovers."""
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
        """True if the broker's registration is appended and not committed."""
        return s.committed_registration[r].broker_epoch < s.registration[r].broker_epoch

    def is_everything_committed(s) -> Bool:
        return s.is_partition_committed() & forall(
            iff(s.registration[r].fenced, s.committed_registration[r].fenced) & ~s.is_registering(r)
            for r in Replica
        )

    # ---- the metadata log

    @action(fair="weak")
    def commit_changes(s) -> None:
        """The appended changes are committed, and a broker whose registration they have starts.

        Kafka: OffsetControlManager.handleCommitBatch; QuorumController then completes the deferred
        events. Simplified: all appended changes are committed at once.
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
        """The controller fails, and the next one continues from the committed changes.

        Kafka: QuorumController.renounce fails the deferred events, and
        OffsetControlManager.deactivate returns to the last committed state. Simplified: at most
        `max_failovers` failovers, each of which drops a change. A change that survives in the log
        of the next controller is committed before the failover.
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
        """Returns the committed partition registration.

        If brokers learn appended changes, the claim `leader_completeness` breaks (bug
        `publishes-uncommitted`, 5 steps).
        """
        return s.committed_partition

    def published_registration(s, r: Replica) -> Registration:
        """Returns the committed registration of the broker.

        The controller also compares the broker epoch of a replica that joins the ISR with this
        registration: a broker that is alive has no newer one.
        """
        return s.committed_registration[r]

    def is_still_current(s, r: Replica, changes: Bool) -> Bool:
        """True if the leader has the partition epoch of the committed partition: an appended change
        does not alter that.
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
        """A stopped broker registers with the next broker epoch; after an unclean stop it leaves
        the ELR.

        Kafka: ClusterControlManager.registerBroker, which keeps the broker epoch if the same
        incarnation registers again. Simplified: as in `kafka-4.1`.
        """
        when(~s.is_registering(r))
        super().register(r)

    @action
    def replace_disk(s, r: Replica) -> None:
        """A stopped broker gets an empty disk, which lacks the file that marks a clean shutdown.

        Kafka: the operator replaces the disk. Simplified: as in `kafka-4.1`. Without the guard that
        the broker does not register, the claim `candidate_completeness` breaks in 8 steps.
        """
        when(~s.is_registering(r))
        super().replace_disk(r)

    @action(fair="weak")
    def grant_isr(s, leader: Replica) -> None:
        """The controller accepts the leader's AlterPartition request; the leader does not know that
        yet.

        Kafka: ReplicationControlManager.alterPartition, which refuses the request if a change of
        the partition is appended: the leader's partition epoch is old then. Simplified: as in
        `kafka-4.1`. Every claim also holds without the guard that this action adds.
        """
        when(s.is_partition_committed())
        super().grant_isr(leader)

    @action(fair="weak")
    def refuse_isr(s, leader: Replica) -> None:
        """The controller refuses an AlterPartition request, and the leader keeps the ISR that it
        knows.

        Kafka: QuorumController.ControllerWriteEvent, which delays a refusal until the changes that
        were appended before are committed. Simplified: as in `kafka-4.1`. Every claim also holds
        without this delay. It matters for a refused partition epoch: without the delay, the claim
        `requests_are_answered` breaks (bug `answers-uncommitted`, 8 steps).
        """
        when(s.is_everything_committed())
        super().refuse_isr(leader)

    # ---- claims

    @invariant
    def leaders_know_what_is_committed(s) -> Bool:
        """A broker knows no leader epoch that is not committed, and a leader with the newest
        committed partition epoch has the committed ISR.

        So no leader counts an ISR that a failover of the controller may drop.
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
        """Reachable: a failover has dropped an election, and the next controller has begun the same
        leader epoch with another leader, or with none.
        """
        committed = s.committed_partition
        return all_of(
            s.dropped.leader_epoch == committed.leader_epoch,
            s.dropped.leader != committed.leader,
        )
