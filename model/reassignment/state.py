"""The state of elections with reassignments: the replicas that the controller knows, and the
replicas that each leader knows.

Source: Kafka's PartitionRegistration (replicas, addingReplicas, removingReplicas) and Partition
(remoteReplicasMap).
Simplified: the simplifications of the spec `election` apply.
"""

from __future__ import annotations

from typing import Annotated

from model.election.state import BrokerEpoch, Faults, LeaderEpoch, Replica
from model.election.versions import Election
from model.language import Bool, Map, Nothing, Record, Scope, Set, count, exists, ite, nothing, true


class Assignment(Record):
    """The replicas of the partition in the controller's metadata. The set `replicas` includes
    the brokers in `adding` and in `removing`.
    """

    replicas: Set[Replica]
    adding: Set[Replica]
    removing: Set[Replica]


class ReassignedPartition(Election):
    replicas: Annotated[int, range(1, 6)] = 2  # brokers, of which some are replicas
    assigned: Annotated[int, range(1, 6)] = 2  # replicas at first; the first brokers
    max_unclean: Annotated[int, range(5)] = 0
    max_losses: Annotated[int, range(5)] = 0
    max_disruptions: Annotated[int, range(5)] = 1
    max_reassignments: Annotated[int, range(5)] = 2  # cancelled reassignments count twice
    changes_factor: bool = True  # False: a reassignment keeps the number of replicas

    assignment: Assignment
    known_replicas: Map[Replica, Set[Replica]]  # the replicas that a leader knows
    reassignments: Faults

    def scope(s) -> Scope:
        """Returns the size of each type of the state.

        There are more leader epochs than in the spec `election`, because reassignments begin
        epochs. The type `Faults` also counts reassignments.
        """
        changes = s.max_unclean + s.max_disruptions + s.max_losses
        most = max(s.max_unclean, s.max_losses, s.max_disruptions, s.max_reassignments)
        return {
            **super().scope(),
            # a reassignment begins one epoch when a replica is removed, and may elect a leader
            LeaderEpoch: range(-1, 2 * changes + 2 * s.max_reassignments + 2),
            BrokerEpoch: changes + 1,
            Faults: range(most + 1),
        }

    def is_first_replica(s, r: Replica) -> Bool:
        return count(x <= r for x in Replica) <= s.assigned

    def init(s) -> None:
        preferred = Replica.least()
        known: Replica | Nothing = preferred
        s.partition_registration.leader = preferred
        s.partition_registration.leader_epoch = LeaderEpoch(0)
        s.broker[preferred].is_current = true
        for r in Replica:
            is_replica = s.is_first_replica(r)
            s.assignment.replicas[r] = is_replica
            s.partition_registration.isr[r] = is_replica
            s.known_replicas[preferred][r] = is_replica
            s.broker[preferred].isr[r] = is_replica
            s.broker[r].is_up = true
            s.broker[r].leader = ite(is_replica, known, nothing)
            s.broker[r].leader_epoch = ite(is_replica, LeaderEpoch(0), LeaderEpoch(-1))

    def is_in_progress(s) -> Bool:
        return exists(s.assignment.adding[r] | s.assignment.removing[r] for r in Replica)

    def is_enough(s, members: Set[Replica]) -> Bool:
        return s.is_enough_of(members, s.assignment.replicas)

    def is_enough_of(s, members: Set[Replica], replicas: Set[Replica]) -> Bool:
        """Returns True if `members` has at least min.insync.replicas members, or at least as
        many members as `replicas`.
        """
        size = count(members[r] for r in Replica)
        return (size >= s.min_isr) | (size >= count(replicas[r] for r in Replica))
