"""Counts how often the steps of detailed specs take each action of an abstract spec.

Each exploration also checks that abstract actions explain every step, as the tests in
`tests/properties/refinement` do. If an exploration would have too many pairs of states, random
walks replace it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from checkers.explicit.graph import compiled_graph
from model.classic_group.versions import ClassicGroup
from model.consumer_group.versions import ConsumerGroup, StaticMembers
from model.idempotence.bugs import SnapshotKeepsNewest
from model.idempotence.state import QUIET as NO_FAULTS
from model.idempotence.versions import IdempotentProducer
from model.idempotence_abstract.versions import SnapshotKeepsNewest as AbstractSnapshot
from model.quorum.versions import Quorum
from model.reassignment.versions import ElrOfReplicas
from model.replication.versions import FetchDivergence
from model.retention.eligible import WithElr
from model.retention.versions import Retention
from model.share_group.versions import Kafka43, ShareGroup
from model.share_group_abstract.versions import Kafka43 as AbstractKafka43
from model.transactions.aborts import AbortAndContinue
from model.transactions.continuation import Continuation
from model.transactions.deletion import TopicIds
from model.transactions.state import QUIET
from model.transactions.two_phase_commit import TwoPhaseCommit
from model.transactions.versions import Transactions, Verification
from model.variants import Constants
from properties.refinement import (
    detailed_classic_group,
    detailed_consumer_group,
    detailed_coordinator,
    detailed_failover,
    detailed_group_offsets,
    detailed_idempotence,
    detailed_quorum,
    detailed_read_committed,
    detailed_reassignment,
    detailed_replication,
    detailed_retention,
    detailed_share_group,
    detailed_transactions,
)
from properties.refinement.detailed_aborts import AbortRefinement, AbortsWithoutEmptyEnds
from properties.refinement.detailed_changed_min_isr import (
    ChangedMinIsrRefinement,
    ReplicasWithChangedMinIsr,
)
from properties.refinement.detailed_continuation import ContinuationRefinement
from properties.refinement.detailed_group_offsets import WithoutResets
from properties.refinement.detailed_kept_transactions import KeptTransactionsRefinement
from properties.refinement.detailed_log_directories import (
    LogDirectoryRefinement,
    ReplicasInDirectories,
)
from properties.refinement.detailed_static_members import StaticMembersRefinement
from properties.refinement.detailed_topic_ids import TopicIdsRefinement
from properties.refinement.detailed_verification import (
    VerificationRefinement,
    WithoutEmptyEnds,
)
from properties.refinement.history_mapping import HistoryMapping, Walk
from properties.refinement.state_mapping import StateMapping
from properties.refinement.state_mapping import Walk as StateWalk

Exploration = Callable[[], Mapping[str, int]]

LATE: Final[Constants] = {"records_late": True, "ends_late": True, "markers_late": True}
RECORDS_AND_MARKERS_LATE: Final[Constants] = {"records_late": True, "markers_late": True}
ONE: Final[Constants] = {**QUIET, "transactions": 1}
THREE_REPLICAS: Final[Constants] = {"replicas": 3, "assigned": 3, "max_reassignments": 0}
TWO_REPLICAS: Final[Constants] = {"replicas": 2, "assigned": 2, "max_reassignments": 0}
WALKS: Final = 200
LENGTH: Final = 40  # steps of a walk


class NotExplained(AssertionError):
    """Raised if no actions of the abstract spec explain a step of a detailed spec."""


def walk(mapping: StateMapping[Any] | HistoryMapping[Any]) -> Exploration:
    """Returns a function that explores the detailed spec and counts the abstract actions of its
    steps.
    """
    return lambda: _explained(mapping, mapping.walk())


def random_walks(mapping: HistoryMapping[Any], seed: int) -> Exploration:
    return lambda: _explained(mapping, mapping.random_walks(WALKS, length=LENGTH, seed=seed))


def _explained(mapping: object, found: StateWalk | Walk) -> Mapping[str, int]:
    if isinstance(found, StateWalk) and (found.unexplained or found.disagreements):
        raise NotExplained(f"{mapping}: {found}")
    if isinstance(found, Walk) and found.unexplained:
        raise NotExplained(f"{mapping}: {found.unexplained[0]}")
    return found.explained


def edges(refinement: detailed_transactions.Refinement) -> Exploration:
    """Returns a function that counts the edges of the detailed spec's state graph for each abstract
    action.
    """

    def explored() -> Mapping[str, int]:
        found = compiled_graph(refinement.detailed)
        counts: Counter[str] = Counter()
        for before, after in found.graph.edges():
            actions = refinement.actions_between(found.states[before], found.states[after])
            if actions is None:
                raise NotExplained(f"{refinement.detailed}: from {before} to {after}")
            counts.update(set(actions))
        return counts

    return explored


# abstract spec -> explorations of the detailed spec that takes its steps
EXPLORATIONS: Final[Mapping[str, Sequence[Exploration]]] = {
    "replication-abstract": (
        walk(
            detailed_replication.Refinement(
                FetchDivergence(replicas=2, max_leader_epoch=2, log_size=1, max_records=1)
            )
        ),
        walk(detailed_replication.Refinement(FetchDivergence(replicas=2))),
        random_walks(detailed_replication.Refinement(FetchDivergence(max_leader_epoch=2)), seed=1),
    ),
    "idempotence-abstract with-restarts": (
        walk(
            detailed_idempotence.Refinement(
                IdempotentProducer(**{**NO_FAULTS, "leader_changes": 2})
            )
        ),
        walk(
            detailed_idempotence.Refinement(
                IdempotentProducer(**{**NO_FAULTS, "leader_changes": 2, "deletes": True})
            )
        ),
    ),
    "idempotence-abstract snapshot-keeps-newest": (
        walk(
            detailed_idempotence.Refinement(
                SnapshotKeepsNewest(**{**NO_FAULTS, "leader_changes": 2}), version=AbstractSnapshot
            )
        ),
    ),
    "transactions-abstract": (
        edges(detailed_transactions.Refinement(Transactions(**{**QUIET, **LATE}))),
        edges(
            detailed_transactions.Refinement(
                Transactions(**{**QUIET, **LATE, "coordinator_failures": 1})
            )
        ),
    ),
    "transactions-abstract topic-ids": (
        edges(TopicIdsRefinement(TopicIds(**QUIET))),
        edges(TopicIdsRefinement(TopicIds(**{**ONE, **LATE, "coordinator_failures": 1}))),
    ),
    "coordinator-abstract": (
        walk(
            detailed_coordinator.Refinement(
                Transactions(**{**ONE, **LATE, "coordinator_failures": 1})
            )
        ),
        walk(detailed_coordinator.Refinement(Transactions(**{**ONE, "ids_expire": True}))),
    ),
    "coordinator-abstract kip-360": (
        walk(ContinuationRefinement(Continuation(**{**ONE, **LATE, "coordinator_failures": 1}))),
        walk(ContinuationRefinement(Continuation(**{**ONE, "ids_expire": True}))),
    ),
    "coordinator-abstract kip-890-part-1": (
        walk(
            VerificationRefinement(
                Verification(**{**ONE, **LATE, "coordinator_failures": 1, "leader_changes": 1})
            )
        ),
        walk(VerificationRefinement(WithoutEmptyEnds(**{**QUIET, **RECORDS_AND_MARKERS_LATE}))),
        walk(VerificationRefinement(Verification(**{**ONE, "ids_expire": True}))),
        walk(AbortRefinement(AbortsWithoutEmptyEnds(**{**QUIET, "records_late": True}))),
        walk(AbortRefinement(AbortAndContinue(**{**ONE, "ids_expire": True}))),
    ),
    "coordinator-abstract kip-939": (
        walk(
            KeptTransactionsRefinement(TwoPhaseCommit(**{**ONE, **LATE, "coordinator_failures": 1}))
        ),
        walk(KeptTransactionsRefinement(TwoPhaseCommit(**QUIET))),
        walk(KeptTransactionsRefinement(TwoPhaseCommit(**{**ONE, "ids_expire": True}))),
    ),
    "read-committed-abstract": (
        walk(
            detailed_read_committed.Refinement(
                Transactions(**{**ONE, "replication_lags": True, "leader_changes": 1})
            )
        ),
        walk(detailed_read_committed.Refinement(Transactions(**{**QUIET, "markers_late": True}))),
    ),
    "pipeline-abstract": (
        walk(detailed_group_offsets.Refinement(WithoutResets(generations=2, log_size=2))),
        walk(
            detailed_group_offsets.Refinement(
                WithoutResets(partitions=2, generations=1, log_size=2)
            )
        ),
    ),
    "classic-group-abstract": (
        walk(detailed_classic_group.Refinement(ClassicGroup(generations=2))),
    ),
    "consumer-group-abstract": (
        walk(detailed_consumer_group.Refinement(ConsumerGroup(epochs=3))),
        walk(detailed_consumer_group.Refinement(ConsumerGroup(partitions=2, epochs=2))),
    ),
    "consumer-group-abstract static-members": (
        walk(StaticMembersRefinement(StaticMembers(epochs=2))),
    ),
    "reassignment-abstract": (
        walk(
            detailed_reassignment.Refinement(
                ElrOfReplicas(
                    replicas=3,
                    assigned=2,
                    max_reassignments=0,
                    max_disruptions=0,
                    max_unclean=1,
                    max_losses=1,
                )
            )
        ),
        random_walks(
            detailed_reassignment.Refinement(
                ElrOfReplicas(
                    replicas=3, assigned=2, min_isr=1, max_reassignments=2, max_disruptions=1
                )
            ),
            seed=1,
        ),
        random_walks(
            detailed_failover.FailoverRefinement(
                detailed_failover.ReplicasWithFailover(
                    replicas=2, assigned=2, max_reassignments=0, max_unclean=1, max_losses=1
                )
            ),
            seed=1,
        ),
        walk(
            LogDirectoryRefinement(
                ReplicasInDirectories(
                    **TWO_REPLICAS, max_unclean=1, max_losses=1, max_disruptions=0
                )
            )
        ),
        random_walks(
            LogDirectoryRefinement(
                ReplicasInDirectories(**TWO_REPLICAS, max_unclean=1, max_losses=1)
            ),
            seed=1,
        ),
    ),
    "reassignment-abstract changed-min-isr": (
        walk(
            ChangedMinIsrRefinement(
                ReplicasWithChangedMinIsr(
                    **TWO_REPLICAS, max_disruptions=0, min_isr=2, other_min_isr=1, max_changes=1
                )
            )
        ),
        walk(
            ChangedMinIsrRefinement(
                ReplicasWithChangedMinIsr(
                    **TWO_REPLICAS, max_disruptions=0, min_isr=1, other_min_isr=2, max_changes=1
                )
            )
        ),
        random_walks(
            ChangedMinIsrRefinement(ReplicasWithChangedMinIsr(**TWO_REPLICAS, max_disruptions=2)),
            seed=4,
        ),
        random_walks(
            ChangedMinIsrRefinement(
                ReplicasWithChangedMinIsr(
                    **THREE_REPLICAS,
                    max_disruptions=1,
                    max_unclean=1,
                    max_losses=1,
                    min_isr=2,
                    other_min_isr=3,
                )
            ),
            seed=1,
        ),
    ),
    "share-group-abstract": (
        walk(detailed_share_group.Refinement(ShareGroup(members=1, max_deleted=1))),
        random_walks(detailed_share_group.Refinement(ShareGroup(writes=2)), seed=1),
    ),
    "share-group-abstract kafka-4.3": (
        walk(
            detailed_share_group.Refinement(
                Kafka43(members=1, writes=2, max_leader_epoch=0, max_failures=0, max_deleted=0),
                version=AbstractKafka43,
            )
        ),
        random_walks(
            detailed_share_group.Refinement(Kafka43(writes=2), version=AbstractKafka43), seed=1
        ),
    ),
    "retention-abstract": (
        walk(detailed_retention.Refinement(Retention(keys=1))),
        walk(detailed_retention.Refinement(Retention(max_leader_epoch=0))),
        walk(detailed_retention.Refinement(Retention(keys=1, log_size=3, max_leader_epoch=0))),
        walk(detailed_retention.Refinement(WithElr(keys=1))),
        random_walks(detailed_retention.Refinement(WithElr(replicas=3)), seed=1),
    ),
    "quorum-abstract": (
        walk(detailed_quorum.Refinement(Quorum(replicas=2))),
        random_walks(
            detailed_quorum.Refinement(Quorum(replicas=3, max_epoch=2, max_failures=1, log_size=3)),
            seed=1,
        ),
    ),
}


def explored(specs: Collection[str]) -> Iterator[tuple[str, Counter[str]]]:
    """Yields each abstract spec in `specs`, with a count for each of its actions: how often steps
    of detailed specs take this action.
    """
    for spec, explorations in EXPLORATIONS.items():
        if spec in specs:
            counts: Counter[str] = Counter()
            for one in explorations:
                counts.update(one())
            yield spec, counts
