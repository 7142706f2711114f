"""The coordinators on a broker: one coordinator for each partition of an internal topic that the
broker leads. The life of a coordinator:

    leader in a newer epoch -> load the log -> coordinate -> leader no more -> error responses
                                   |
                                   +-> requests get COORDINATOR_LOAD_IN_PROGRESS

The first FindCoordinator request creates the internal topic.

Source: KIP-98; docs/kafka-rules.md D6; GroupCoordinatorService, TransactionStateManager of Apache
Kafka.
Simplified: a coordinator loads its whole log in one step, when the time `coordinator_load_ms` has
passed. The default of this time is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from model.vocabulary import BrokerId, LeaderEpoch, TopicPartition
from reference_impl.groups import administration
from reference_impl.groups import requests as group_requests
from reference_impl.groups.coordinator import GroupCoordinator
from reference_impl.groups.validation import request_error
from reference_impl.log.partition_log import PartitionLog
from reference_impl.node.bugs import Bugs
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import Effects, Send, SetTimer, StepResult, Timer, TimerKind
from reference_impl.partition.follower import Follower
from reference_impl.partition.leader import Leader
from reference_impl.protocol import groups, transactions
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.coordinators import CONSUMER_OFFSETS, TRANSACTION_STATE
from reference_impl.protocol.group_administration import (
    DeleteOffsets,
    ListedGroup,
    ListedGroups,
)
from reference_impl.protocol.groups import GroupRequest, GroupResponse, JoinedGroup, JoinGroup
from reference_impl.protocol.messages import CONTROLLER, ErrorCode, NodeId, Produced
from reference_impl.protocol.replacing import replace
from reference_impl.protocol.topic_config import INTERNAL_LOG_CONFIG
from reference_impl.protocol.transactions import (
    CoordinatorRequest,
    FindCoordinator,
    FoundCoordinator,
    WrittenTxnMarker,
)
from reference_impl.transactions.coordinator import TransactionCoordinator

Coordinator = TransactionCoordinator | GroupCoordinator
Load = Callable[[TopicPartition, LeaderEpoch, PartitionLog, Context], tuple[Coordinator, Effects]]
Replicas = Mapping[TopicPartition, Leader | Follower]
LOAD: Final[Mapping[str, Load]] = {
    TRANSACTION_STATE: TransactionCoordinator.load,
    CONSUMER_OFFSETS: GroupCoordinator.load,
}
REPLICAS: Final = 3
MIN_INSYNC: Final = 2  # transaction.state.log.min.isr; here for both internal topics


class Loading(NamedTuple):
    """A coordinator that is loading its log. The load is complete at the time `until_ms`."""

    coordinator_epoch: LeaderEpoch
    until_ms: int


@dataclass(frozen=True, slots=True)
class LocalCoordinators:
    """The coordinators on this broker. The key of a coordinator is the topic partition that stores
    the coordinator's state.
    """

    roles: Mapping[TopicPartition, Coordinator] = field(
        default_factory=dict[TopicPartition, Coordinator]
    )
    loading: Mapping[TopicPartition, Loading] = field(default_factory=dict[TopicPartition, Loading])

    def apply_roles(self, replicas: Replicas, context: Context) -> StepResult[LocalCoordinators]:
        """Starts a coordinator for each internal topic partition that this broker now leads, and
        stops the coordinators of all other partitions.

        Requests that wait at a stopped coordinator get error responses.
        """
        roles: dict[TopicPartition, Coordinator] = {}
        loading: dict[TopicPartition, Loading] = {}
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
            begun = self.loading.get(topic_partition)
            if begun is None or begun.coordinator_epoch != coordinator_epoch:
                until_ms = context.now_ms + context.broker_settings.coordinator_load_ms
                begun = Loading(coordinator_epoch, until_ms)
            role, more = _load(topic_partition, begun, replica.log, context)
            effects += more
            if role is None:
                loading[topic_partition] = begun
            else:
                roles[topic_partition] = role
        for topic_partition, role in self.roles.items():
            if topic_partition not in replicas:  # the topic has been deleted
                effects += role.resign()
        return LocalCoordinators(roles, loading), effects

    def forget_offsets(
        self, deleted: frozenset[TopicPartition], context: Context, replicas: Replicas
    ) -> tuple[Send, ...]:
        """Returns requests that the broker sends to itself. The requests delete the offsets that
        groups have committed in the partitions `deleted`. If `deleted` is empty, there are no
        requests.

        Kafka: GroupCoordinatorService.onMetadataUpdate, OffsetMetadataManager.onTopicsDeleted.
        """
        if not deleted:
            return ()
        return tuple(
            Send(
                NodeId(context.broker_id),
                context.correlation,
                DeleteOffsets(group=group, topic_partitions=places, of_deleted_topic=True),
            )
            for place, role in self.roles.items()
            if isinstance(role, GroupCoordinator)
            for group, places in administration.offsets_in(
                role, deleted, replicas[place].log, context
            ).items()
        )

    def on_request(
        self, context: Context, requester: Requester, request: CoordinatorRequest
    ) -> StepResult[LocalCoordinators]:
        """Passes a request of a transactional producer to its transaction coordinator. If this
        broker does not have this coordinator, the requester gets an error.

        Kafka: TransactionCoordinator.handleInitProducerId.
        """
        # Every broker rejects an empty transactional id.
        if not request.transactional_id:
            error = ErrorCode.INVALID_REQUEST
            return self, (requester.reply(transactions.refusal(request, error)),)
        place = context.coordinators.partition_for(TRANSACTION_STATE, request.transactional_id)
        role = self.roles.get(place) if place is not None else None
        if not isinstance(role, TransactionCoordinator):
            error = (
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
                if place in self.loading
                else ErrorCode.NOT_COORDINATOR
            )
            return self, (requester.reply(transactions.refusal(request, error)),)
        role, effects = role.on_request(context, requester, request)
        return self._with(role), effects

    def on_group_request(
        self, context: Context, requester: Requester, request: GroupRequest, replicas: Replicas
    ) -> StepResult[LocalCoordinators]:
        # Every broker rejects a malformed request.
        malformed = request_error(request, context.broker_settings)
        if malformed is not ErrorCode.NONE:
            if isinstance(request, JoinGroup):
                answer: GroupResponse = JoinedGroup(error=malformed, member_id=request.member_id)
            else:
                answer = groups.refusal(request, malformed)
            return self, (requester.reply(answer),)
        place = context.coordinators.partition_for(CONSUMER_OFFSETS, request.group)
        if place in self.loading:
            return self, (requester.reply(group_requests.response_while_loading(request)),)
        role = self.roles.get(place) if place is not None else None
        if place is None or not isinstance(role, GroupCoordinator):
            error = ErrorCode.NOT_COORDINATOR
            return self, (requester.reply(groups.refusal(request, error)),)
        log = replicas[place].log
        role, effects = group_requests.on_request(role, context, requester, request, log)
        return self._with(role), effects

    def refuses_marker(self, request: object) -> bool:
        """Returns True if `request` writes a transaction marker to the log of a coordinator that
        still loads this log.

        Kafka: KafkaApis.handleWriteTxnMarkersRequest.
        """
        match request:
            case transactions.WriteTxnMarker():
                return request.topic_partition in self.loading
            case _:
                return False

    def list_groups(self, context: Context, requester: Requester, replicas: Replicas) -> Effects:
        """Responds with the groups of this broker's group coordinators. The response is an error if
        a group coordinator still loads its log.

        Kafka: GroupCoordinatorService.listGroups.
        """
        loading = (requester.reply(ListedGroups(error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)),)
        if self.is_loading_any(CONSUMER_OFFSETS):
            return loading
        groups: list[ListedGroup] = []
        for place, role in self.roles.items():
            if isinstance(role, GroupCoordinator):
                listed = administration.listed(role, replicas[place].log, context)
                if listed is None:
                    return loading
                groups += listed
        return (requester.reply(ListedGroups(groups=tuple(groups))),)

    def is_loading_any(self, topic: str) -> bool:
        return any(place.topic == topic for place in self.loading)

    def on_append_response(
        self, context: Context, correlation: int, answer: Produced
    ) -> StepResult[LocalCoordinators]:
        for role in self.roles.values():
            if correlation in role.changes:
                after, effects = role.on_append_response(context, correlation, answer)
                return self._with(after), effects
        return self, ()

    def append_error(
        self, topic_partition: TopicPartition, correlation: int, bugs: Bugs
    ) -> ErrorCode:
        """Returns the error that rejects a coordinator's record batch just before the batch is
        appended, or NONE. `correlation` is the number of the append request. Only a transaction's
        offset commit can be rejected.
        """
        role = self.roles.get(topic_partition)
        if not isinstance(role, GroupCoordinator):
            return ErrorCode.NONE
        # An offset commit may have waited for the verification of its transaction.
        return role.append_error(correlation, bugs)

    def on_marker_response(
        self, context: Context, correlation: int, answer: WrittenTxnMarker
    ) -> StepResult[LocalCoordinators]:
        place = context.coordinators.partition_for(TRANSACTION_STATE, answer.transactional_id)
        role = self.roles.get(place) if place is not None else None
        if not isinstance(role, TransactionCoordinator):
            return self, ()
        role, effects = role.on_marker_response(context, correlation, answer)
        return self._with(role), effects

    def on_timer(
        self, context: Context, topic_partition: TopicPartition, replicas: Replicas
    ) -> StepResult[LocalCoordinators]:
        """Passes an expired timer to the coordinator of `topic_partition`. If the coordinator is
        still loading, completes its load when the load time has passed. Does nothing if the broker
        no longer has this coordinator.
        """
        begun = self.loading.get(topic_partition)
        if begun is not None:
            log = replicas[topic_partition].log
            loaded, effects = _load(topic_partition, begun, log, context)
            if loaded is None:
                return self, effects
            left = {place: it for place, it in self.loading.items() if place != topic_partition}
            return replace(self, loading=left)._with(loaded), effects
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


def _load(
    topic_partition: TopicPartition, begun: Loading, log: PartitionLog, context: Context
) -> StepResult[Coordinator | None]:
    # Until the load time has passed, returns None and a timer.
    if context.now_ms < begun.until_ms:
        timer = Timer(TimerKind.COORDINATOR, topic_partition)
        return None, (SetTimer(timer, begun.until_ms),)
    return LOAD[topic_partition.topic](topic_partition, begun.coordinator_epoch, log, context)


def find_coordinator(
    context: Context, requester: Requester, request: FindCoordinator, topic_partitions: int
) -> Effects:
    """Responds with the broker of the coordinator for the key of `request`.

    If there is no such broker, the response is COORDINATOR_NOT_AVAILABLE. If the internal topic
    does not exist, the broker also sends the controller a request to create this topic with
    `topic_partitions` partitions.
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
