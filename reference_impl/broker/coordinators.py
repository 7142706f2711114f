"""The coordinators of a broker: one for each topic partition of an internal topic that it leads.

    leads in a newer epoch -> reads the log -> coordinates -> leads no more -> answers who waits

A request goes to the coordinator that its key names; where this broker is not that one, the answer
is NOT_COORDINATOR, and FindCoordinator tells who is. The internal topics are created when somebody
looks for a coordinator for the first time.

Source: KIP-98; protocol rules D6.
Simplified: a log is read within one step, so nobody is ever told that it is being loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from model.vocabulary import BrokerId, LeaderEpoch, TopicPartition
from reference_impl.groups.coordinator import GroupCoordinator
from reference_impl.log.partition_log import PartitionLog
from reference_impl.node.bugs import Bugs
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import Effects, Send, StepResult
from reference_impl.partition.follower import Follower
from reference_impl.partition.leader import Leader
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.coordinators import CONSUMER_OFFSETS, TRANSACTION_STATE
from reference_impl.protocol.groups import GroupRequest, refusal
from reference_impl.protocol.messages import (
    CONTROLLER,
    ErrorCode,
    InitializedProducerId,
    InitProducerId,
    Produced,
)
from reference_impl.protocol.requests import Response
from reference_impl.protocol.topic_config import INTERNAL_LOG_CONFIG
from reference_impl.protocol.transactions import (
    AddedOffsetsToTxn,
    AddedPartitionsToTxn,
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndedTxn,
    EndTxn,
    FindCoordinator,
    FoundCoordinator,
    WrittenTxnMarker,
)
from reference_impl.transactions.coordinator import TransactionCoordinator

OfTransaction = InitProducerId | AddPartitionsToTxn | AddOffsetsToTxn | EndTxn
Coordinator = TransactionCoordinator | GroupCoordinator
Load = Callable[[TopicPartition, LeaderEpoch, PartitionLog, Context], tuple[Coordinator, Effects]]
Replicas = Mapping[TopicPartition, Leader | Follower]
LOAD: Final[Mapping[str, Load]] = {
    TRANSACTION_STATE: TransactionCoordinator.load,
    CONSUMER_OFFSETS: GroupCoordinator.load,
}
REPLICAS: Final = 3
MIN_INSYNC: Final = 2  # transaction.state.log.min.isr; the offsets are kept as safely here


@dataclass(frozen=True, slots=True)
class LocalCoordinators:
    """The coordinators, by the topic partition that keeps their state."""

    roles: Mapping[TopicPartition, Coordinator] = field(
        default_factory=dict[TopicPartition, Coordinator]
    )

    def apply_roles(self, replicas: Replicas, context: Context) -> StepResult[LocalCoordinators]:
        """What becomes of them under newer metadata."""
        roles: dict[TopicPartition, Coordinator] = {}
        effects: Effects = ()
        for topic_partition, replica in replicas.items():
            known = self.roles.get(topic_partition)
            if topic_partition.topic not in LOAD or not isinstance(replica, Leader):
                effects += known.resign() if known is not None else ()
                continue
            coordinator_epoch = replica.state.leader_epoch
            if known is not None and known.coordinator_epoch == coordinator_epoch:
                roles[topic_partition] = known
                continue
            effects += known.resign() if known is not None else ()
            roles[topic_partition], begun = LOAD[topic_partition.topic](
                topic_partition, coordinator_epoch, replica.log, context
            )
            effects += begun
        return LocalCoordinators(roles), effects

    def on_request(
        self, context: Context, requester: Requester, request: OfTransaction
    ) -> StepResult[LocalCoordinators]:
        """A request to the coordinator of its key."""
        place = context.coordinators.partition_for(
            TRANSACTION_STATE, request.transactional_id or ""
        )
        role = self.roles.get(place) if place is not None else None
        if not isinstance(role, TransactionCoordinator):
            return self, (requester.reply(_not_coordinator(request)),)
        role, effects = role.on_request(context, requester, request)
        return self._with(role), effects

    def on_group_request(
        self, context: Context, requester: Requester, request: GroupRequest, replicas: Replicas
    ) -> StepResult[LocalCoordinators]:
        """A request to the coordinator of its group."""
        place = context.coordinators.partition_for(CONSUMER_OFFSETS, request.group)
        role = self.roles.get(place) if place is not None else None
        if place is None or not isinstance(role, GroupCoordinator):
            error = ErrorCode.NOT_COORDINATOR
            return self, (requester.reply(refusal(request, error)),)
        role, effects = role.on_request(context, requester, request, replicas[place].log)
        return self._with(role), effects

    def on_append_response(
        self, context: Context, correlation: int, answer: Produced
    ) -> StepResult[LocalCoordinators]:
        """A leader has answered an append of one of them: that which knows the correlation."""
        for role in self.roles.values():
            if correlation in role.changes:
                after, effects = role.on_append_response(context, correlation, answer)
                return self._with(after), effects
        return self, ()

    def append_error(
        self, topic_partition: TopicPartition, correlation: int, bugs: Bugs
    ) -> ErrorCode:
        """Why a coordinator does not want any more what it wanted to be appended."""
        role = self.roles.get(topic_partition)
        if not isinstance(role, GroupCoordinator):
            return ErrorCode.NONE
        return role.append_error(correlation, bugs)

    def on_marker_response(
        self, context: Context, correlation: int, answer: WrittenTxnMarker
    ) -> StepResult[LocalCoordinators]:
        """A leader has answered a marker."""
        place = context.coordinators.partition_for(TRANSACTION_STATE, answer.transactional_id)
        role = self.roles.get(place) if place is not None else None
        if not isinstance(role, TransactionCoordinator):
            return self, ()
        role, effects = role.on_marker_response(context, correlation, answer)
        return self._with(role), effects

    def on_timer(
        self, context: Context, topic_partition: TopicPartition, replicas: Replicas
    ) -> StepResult[LocalCoordinators]:
        """The timer of a coordinator; of one that has ended it comes to nothing."""
        role = self.roles.get(topic_partition)
        if role is None:
            return self, ()
        if isinstance(role, GroupCoordinator):
            role, effects = role.on_timer(context, replicas[topic_partition].log)
        else:
            role, effects = role.on_timer(context)
        return self._with(role), effects

    def _with(self, role: Coordinator) -> LocalCoordinators:
        return replace(self, roles={**self.roles, role.topic_partition: role})


def found(
    context: Context, requester: Requester, request: FindCoordinator, topic_partitions: int
) -> Effects:
    """The coordinator of a key, as far as this broker knows.

    Before anybody can coordinate the internal topic has to be created: the controller is asked to.
    """
    topic = TRANSACTION_STATE if request.is_transactional else CONSUMER_OFFSETS
    leader = context.coordinators.leader(topic, request.key)
    if leader is not None:
        return (requester.reply(FoundCoordinator(broker_id=BrokerId(leader))),)
    answer = requester.reply(FoundCoordinator(error=ErrorCode.COORDINATOR_NOT_AVAILABLE))
    if context.coordinators.partition_for(topic, request.key) is not None:
        return (answer,)
    missing = _internal_topic(topic, topic_partitions, context)
    return (Send(CONTROLLER, context.correlation, missing), answer)


def _internal_topic(topic: str, topic_partitions: int, context: Context) -> CreateTopic:
    alive = sum(not state.fenced for state in context.brokers.values())
    replicas = min(REPLICAS, max(1, alive))
    return CreateTopic(
        topic=topic,
        topic_partitions=topic_partitions,
        replication_factor=replicas,
        min_insync_replicas=min(MIN_INSYNC, replicas),
        log_config=INTERNAL_LOG_CONFIG,
    )


def _not_coordinator(request: OfTransaction) -> Response:
    error = ErrorCode.NOT_COORDINATOR
    match request:
        case InitProducerId():
            return InitializedProducerId(error=error)
        case AddPartitionsToTxn(topic_partitions=topic_partitions):
            return AddedPartitionsToTxn(topic_partitions=topic_partitions, error=error)
        case AddOffsetsToTxn():
            return AddedOffsetsToTxn(error=error)
        case EndTxn():
            return EndedTxn(error=error)
