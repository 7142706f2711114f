"""Elections of brokers with two log directories (JBOD), of which one fails.

A broker has its replica in one directory, and its metadata in the other one. When the directory of
the replica fails, the broker stays up, and reports the failure to the controller. The operator
removes the failed directory from log.dirs and restarts the broker. The broker creates an empty
replica in its other directory, and sends AssignReplicasToDirs to the controller.

This version adds four actions:

    faults       fail_directory
    brokers      WF report_failure, WF assign_directory
    operator     WF remove_directory

Source: KIP-858; LogManager, ReplicaManager, AssignmentsManager and ReplicationControlManager of
Kafka 4.3.
Simplified: the directory with the metadata never fails, and no replica moves between directories. A
broker starts only after the operator has removed a failed directory. If a leader's directory fails,
its pending AlterPartition request is lost. A broker that cannot report its directory does not stop
(`log.dir.failure.timeout.ms`).
"""

from __future__ import annotations

from model.election.actions.controller import NO_REPLICA
from model.election.state import Offset, Replica
from model.election.versions import Election
from model.language import (
    Bool,
    Map,
    Record,
    Set,
    action,
    all_of,
    exists,
    false,
    forall,
    implies,
    invariant,
    nothing,
    true,
    when,
    witness,
)
from model.releases import unreleased
from model.variants import version


class Directories(Record):
    """The state of the log directory that had a broker's replica initially, as the broker knows it
    and as the controller knows it.
    """

    has_failed: Bool
    is_replaced: Bool  # the broker has a new replica in its other directory
    is_offline: Bool  # the controller: the registration of the broker does not list it
    is_assigned: Bool  # the controller: the replica is in the other directory


@version(
    "log-directories",
    in_force=unreleased(
        "proposed: the controller compares the directory of a replica with the registration"
    ),
)
class LogDirectories(Election):
    """Kafka 4.3 with brokers that have two log directories, and with three rules that no release
    has.

    First rule: a broker leaves the ELR when it registers without the directory of its replica.
    Second rule: the controller refuses an ISR that has a replica in an offline directory.
    Third rule: a heartbeat that unfences a broker does not also report a failed directory. If it
    does, the claim `failed_is_out_of_sync` breaks (bug `reports-too-late`, 4 steps).
    """

    directory: Map[Replica, Directories]

    def has_log(s, r: Replica) -> Bool:
        """Returns True if the broker is up, and the directory of its replica has not failed."""
        known = s.directory[r]
        return s.broker[r].is_up & (known.is_replaced | ~known.has_failed)

    def presumes_leadership(s, r: Replica) -> Bool:
        return super().presumes_leadership(r) & s.has_log(r)

    def is_following(s, follower: Replica, leader: Replica) -> Bool:
        return super().is_following(follower, leader) & s.has_log(follower)

    def is_fetching(s, r: Replica) -> Bool:
        return super().is_fetching(r) & s.has_log(r)

    def has_online_directory(s, r: Replica) -> Bool:
        """Returns True if the controller considers the directory of the replica online."""
        return s.directory[r].is_assigned | ~s.directory[r].is_offline

    # ---- faults

    @action
    def fail_directory(s, r: Replica) -> None:
        """The log directory of a running broker fails, and its records are lost.

        Kafka: LogManager.handleLogDirFailure, ReplicaManager.handleLogDirFailure.
        Simplified: the loss counts as an unclean stop.

        Every claim also holds without the guard that the broker is up.
        """
        when(
            s.broker[r].is_up,
            ~s.directory[r].has_failed,
            s.unclean < s.max_unclean,
            s.losses < s.max_losses,
        )
        s.leave_last_fetch(r)
        s.truncate_to(r, Offset(0))
        s.clear_request(r)
        s.directory[r].has_failed = true
        s.unclean = s.unclean + 1
        s.losses = s.losses + 1

    @action
    def replace_disk(s, r: Replica) -> None:
        """A stopped broker loses the log directory of its replica. If it stopped cleanly, the other
        directory still has the clean shutdown file.

        Kafka: LogManager.readBrokerEpochFromCleanShutdownFiles reads the directories in log.dirs.
        Simplified: the loss counts as an unclean stop.

        Without the guard that the broker is stopped, the claim `leader_completeness` breaks in 12
        steps.
        """
        was_clean = s.broker[r].stopped_cleanly
        when(~s.directory[r].has_failed)
        super().replace_disk(r)
        s.broker[r].stopped_cleanly = was_clean
        s.directory[r].has_failed = true

    # ---- brokers

    def remaining_isr_after_failure(s, r: Replica) -> Set[Replica]:
        """Returns the ISR without the replica of the broker `r`, which has reported that its
        directory failed.

        If the replica stays in the ISR, the claim `failed_is_out_of_sync` breaks (bug
        `ignores-failed-directory`, 2 steps).
        """
        return s.partition_registration.isr - {r}

    @action(fair="weak")
    def report_failure(s, r: Replica) -> None:
        """A broker reports a failed directory with a heartbeat. The broker's replica leaves the
        ISR. If the broker led, the controller elects another leader.

        Kafka: ReplicationControlManager.handleDirectoriesOffline.
        Simplified: the heartbeat and the change of the partition are one step.

        Without the guard that the controller does not know of the failure yet, a broker may report
        a failure twice. The claim `candidates_are_elected` breaks in 12 steps.
        """
        known = s.directory[r]
        when(s.broker[r].is_up, known.has_failed, ~known.is_offline)
        s.change_partition(s.remaining_isr_after_failure(r), s.alive() - {r})
        s.directory[r].is_offline = true

    @action(fair="weak")
    def assign_directory(s, r: Replica) -> None:
        """A broker with a new replica sends the directory of this replica to the controller. The
        controller may then elect the broker.

        Kafka: AssignmentsManager, ReplicationControlManager.handleAssignReplicasToDirs.
        Simplified: the controller elects a leader in this step. Kafka's controller elects one when
        a broker is next unfenced, or at the next preferred leader election.

        Without the guard that the broker has a new replica, the claim `candidates_are_elected`
        breaks in 4 steps.
        """
        when(s.broker[r].is_up, s.directory[r].is_replaced, ~s.directory[r].is_assigned)
        electable: Set[Replica] = Map(
            Replica, lambda x: s.is_alive(x) & ((x == r) | s.is_electable(x))
        )
        super().change_partition(s.partition_registration.isr, electable, reassigns=true)
        s.directory[r].is_assigned = true

    # ---- the operator

    @action(fair="weak")
    def remove_directory(s, r: Replica) -> None:
        """The operator stops a broker whose directory has failed, to remove this directory from
        log.dirs.

        Kafka: a controlled shutdown. The other directories have the clean shutdown file.
        Simplified: the operator waits until the controller knows of the failure.

        Every claim also holds without the guard of this action.
        """
        when(s.broker[r].is_up, s.is_alive(r), s.directory[r].is_offline, ~s.has_log(r))
        s.fence(r)
        s.stop(r, cleanly=true)

    # ---- the controller

    def is_electable(s, r: Replica) -> Bool:
        """Returns True if the controller considers the directory of the replica online. Only then
        may the controller elect the broker.

        Kafka: LeaderAcceptor in ReplicationControlManager.

        Without this check, the claim `failed_is_out_of_sync` breaks (bug `elects-failed-replica`, 3
        steps).
        """
        return s.has_online_directory(r)

    def change_partition(
        s,
        isr: Set[Replica],
        alive: Set[Replica],
        unclean: Set[Replica] = NO_REPLICA,
        *,
        reassigns: Bool = false,
        removes: Bool = false,
    ) -> None:
        electable: Set[Replica] = Map(Replica, lambda r: alive[r] & s.is_electable(r))
        super().change_partition(isr, electable, unclean, reassigns=reassigns, removes=removes)

    @action
    def move_leader(s, r: Replica) -> None:
        """An operator moves the leadership to another member of the ISR, whose log directory is
        online.

        Kafka: a preferred leader election; LeaderAcceptor compares the directories.
        Simplified: the simplifications of this action in the version `kafka-4.1` apply.

        Every claim also holds without the guard that the directory is online. Without the guard
        that the replica is in the ISR, the claim `leader_is_alive_and_in_isr` breaks in 4 steps.
        """
        when(s.is_electable(r))
        super().move_leader(r)

    def is_unclean(s, r: Replica) -> Bool:
        """Returns True if the broker's latest stop was not a clean shutdown, or if the broker
        registers without the directory of its replica.

        Without the second condition, the claim `leader_completeness` breaks (bug
        `keeps-lost-replica`, 11 steps).
        """
        return super().is_unclean(r) | s.lacks_directory(r)

    def lacks_directory(s, r: Replica) -> Bool:
        return s.directory[r].has_failed & ~s.directory[r].is_assigned

    @action(fair="weak")
    def register(s, r: Replica) -> None:
        """A stopped broker registers with the next broker epoch. The registration does not list a
        failed directory. The broker leaves the ELR if its replica was in this directory.

        Kafka: ClusterControlManager.registerBroker, LogManager.getOrCreateLog.
        Simplified: the simplifications of this action in the version `kafka-4.1` apply.

        Without the guard that the broker is fenced, the claim `unclean_is_excluded` breaks in 2
        steps.
        """
        has_failed = s.directory[r].has_failed
        super().register(r)
        s.directory[r].is_offline = has_failed
        s.directory[r].is_replaced = has_failed

    def may_be_members(s, leader: Replica) -> Bool:
        """Returns True if the controller may accept the ISR that the leader has requested. Every
        member must be alive, and the controller must consider its directory online.
        """
        return super().may_be_members(leader) & s.are_online(s.broker[leader].proposed)

    def are_online(s, members: Set[Replica]) -> Bool:
        """Returns True if the controller considers the directory of each member online.

        Without this check, the claim `candidates_are_elected` breaks (bug
        `accepts-failed-replica`, 7 steps).
        """
        return forall(s.has_online_directory(r) for r in members)

    # ---- claims

    @invariant
    def failed_is_out_of_sync(s) -> Bool:
        """No replica is in the ISR if the controller knows that its log directory has failed."""
        return forall(
            implies(s.partition_registration.isr[r], s.has_online_directory(r)) for r in Replica
        )

    @invariant
    def candidates_are_elected(s) -> Bool:
        """If the partition has no leader, each replica in the ISR or in the ELR is fenced, or its
        log directory is offline.
        """
        partition = s.partition_registration
        return implies(
            partition.leader == nothing,
            forall(
                ~all_of(
                    partition.isr[r] | partition.elr[r], s.is_alive(r), s.has_online_directory(r)
                )
                for r in Replica
            ),
        )

    @witness
    def a_new_replica_leads(s) -> Bool:
        """Reachable: a broker leads with the replica that it created in its other directory, and
        this replica has a committed record.
        """
        return exists(
            all_of(
                s.is_true_leader(r),
                s.directory[r].is_replaced,
                s.broker[r].high_watermark > 0,
            )
            for r in Replica
        )
