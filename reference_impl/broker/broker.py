"""A broker: it registers with the controller, applies metadata, and handles requests. Its state
changes in this order:

    start -> registers -> heartbeats, applies metadata -> leads and follows -> crash
      ^                                                                          |
      +----------------  what the crash left on the disk  -----------------------+

A broker ignores metadata images that are older than its own registration. Such an image could make
the broker the leader in an epoch whose records the crash has lost.

Source: docs/kafka-rules.md A1 to B10.
Simplified: a producer id is computed from the broker epoch, whereas Kafka's controller assigns
blocks of producer ids. A broker that shuts down cleanly is fenced at once, whereas Kafka first
moves its leaderships to other brokers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from model.vocabulary import BrokerEpoch, BrokerId, ProducerEpoch, TopicPartition
from reference_impl.broker import coordinators as coordinators_of
from reference_impl.broker import inspection
from reference_impl.broker.config import BrokerConfig
from reference_impl.broker.controller_channel import ControllerChannel
from reference_impl.broker.coordinators import LocalCoordinators
from reference_impl.broker.deleted_topics import deleted
from reference_impl.broker.metadata_delta import applied
from reference_impl.log.partition_log import PartitionLog
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import (
    Effect,
    Effects,
    Input,
    Reply,
    RequestReceived,
    ResponseReceived,
    Send,
    SetTimer,
    StepResult,
    Stopped,
    Timer,
    TimerFired,
    TimerKind,
)
from reference_impl.partition import follower as partition_follower
from reference_impl.partition.follower import Follower
from reference_impl.partition.leader import Leader
from reference_impl.partition.roles import (
    REQUEST_HANDLERS,
    RESPONSE_HANDLERS,
    TIMER_HANDLERS,
    Replica,
    answer_of_follower,
    no_replica_error,
    refusal,
)
from reference_impl.partition.upkeep import PERIODIC
from reference_impl.protocol.controller import (
    NO_METADATA,
    AdministrationRequest,
    AdministrationResponse,
    BrokerHeartbeated,
    BrokerState,
    DescribedMetadata,
    Metadata,
    MetadataImage,
    RegisteredBroker,
    UpdateMetadata,
)
from reference_impl.protocol.coordinators import NO_COORDINATORS, Coordinators
from reference_impl.protocol.group_administration import ListGroups
from reference_impl.protocol.groups import GroupRequest
from reference_impl.protocol.inspection import InspectionRequest
from reference_impl.protocol.messages import (
    UNKNOWN_BROKER_EPOCH,
    ErrorCode,
    InitializedProducerId,
    InitProducerId,
    NodeId,
    Produced,
)
from reference_impl.protocol.replacing import replace
from reference_impl.protocol.topic_config import LARGEST_MS as NEVER
from reference_impl.protocol.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    FindCoordinator,
    WrittenTxnMarker,
)

Disk = Mapping[TopicPartition, PartitionLog]


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """The state of a broker. It is an immutable value, and `step` returns the next state."""

    config: BrokerConfig
    channel: ControllerChannel
    correlation: int  # grows with every step, over all incarnations
    image: MetadataImage = NO_METADATA
    brokers: Mapping[BrokerId, BrokerState] = field(default_factory=dict[BrokerId, BrokerState])
    replicas: Mapping[TopicPartition, Replica] = field(
        default_factory=dict[TopicPartition, Replica]
    )
    coordinators: Coordinators = NO_COORDINATORS
    unassigned: Disk = field(default_factory=dict[TopicPartition, PartitionLog])
    local_coordinators: LocalCoordinators = LocalCoordinators()  # noqa: RUF009 - a frozen value

    @property
    def incarnation(self) -> int:
        return self.channel.incarnation

    @property
    def broker_epoch(self) -> BrokerEpoch:
        """Returns the broker's epoch, or -1 before its first registration."""
        return self.channel.broker_epoch

    @classmethod
    def start(
        cls,
        now_ms: int,
        *,
        config: BrokerConfig,
        incarnation: int,
        disk: Disk | None = None,
        previous_broker_epoch: BrokerEpoch = UNKNOWN_BROKER_EPOCH,
    ) -> StepResult[Broker]:
        """Returns a new broker, with the messages and timers of its start.

        `incarnation` must be larger at each start of the same broker. If the broker's previous
        shutdown was clean, `previous_broker_epoch` is the broker epoch at that shutdown. Otherwise
        it is -1. `disk` has the stored logs; None means that there are none.
        """
        broker = cls(
            config=config,
            channel=ControllerChannel(
                # The previous broker epoch is -1 if the last stop was not clean.
                broker_id=config.broker_id,
                incarnation=incarnation,
                previous_broker_epoch=previous_broker_epoch,
            ),
            correlation=incarnation << 32,
            unassigned=dict(disk or {}),
        )
        timers = (broker._timer(kind, now_ms) for kind in PERIODIC if broker._period(kind) < NEVER)
        return broker, (*broker._call_controller(now_ms), *timers)

    def step(self, now_ms: int, event: Input) -> StepResult[Broker]:
        broker, effects = self._step(now_ms, event)
        me = NodeId(self.config.broker_id)
        outward: list[Effect] = []
        todo = deque(effects)
        while todo:
            match todo.popleft():
                # A message of the broker to itself, for example from a coordinator to a leader.
                case Send(to, correlation, request) if to == me:
                    broker, more = broker._step(now_ms, RequestReceived(me, correlation, request))
                case Reply(to, correlation, response) if to == me:
                    broker, more = broker._step(now_ms, ResponseReceived(me, correlation, response))
                case effect:
                    outward.append(effect)
                    continue
            todo.extend(more)
        return broker, tuple(outward)

    def _step(self, now_ms: int, event: Input) -> StepResult[Broker]:
        broker = replace(self, correlation=self.correlation + 1)
        match event:
            case RequestReceived(_, _, request) if type(request) in REQUEST_HANDLERS:
                return broker._on_leader_request(now_ms, event)
            case RequestReceived():
                return broker._on_request(now_ms, event)
            case ResponseReceived():
                return broker._on_response(now_ms, event)
            case TimerFired(timer):
                return broker._on_timer(now_ms, timer)

    def disk(self) -> Disk:
        logs = {topic_partition: replica.log for topic_partition, replica in self.replicas.items()}
        return {
            topic_partition: log.after_process_crash()
            for topic_partition, log in {**self.unassigned, **logs}.items()
        }

    def leads(self, topic_partition: TopicPartition) -> bool:
        return isinstance(self.replicas.get(topic_partition), Leader)

    # ------------------------------------------------------------ requests

    def _on_leader_request(self, now_ms: int, received: RequestReceived) -> StepResult[Broker]:
        requester = Requester(received.sender, received.correlation)
        request: Any = received.request
        context, replica = self._context(now_ms), self.replicas.get(request.topic_partition)
        match replica:
            case Leader() if self.local_coordinators.refuses_marker(request):
                return self, refusal(request, requester, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            case Leader():
                handle = REQUEST_HANDLERS[type(request)]
                leader, effects = handle(replica, context, requester, request)
                return self._with(leader), effects
            case Follower():
                return self, answer_of_follower(replica, context, requester, request)
            case None:
                exists = request.topic_partition in self.coordinators.leaders
                return self, refusal(request, requester, no_replica_error(exists=exists))

    def _on_request(self, now_ms: int, received: RequestReceived) -> StepResult[Broker]:
        requester = Requester(received.sender, received.correlation)
        match received.request:
            case Metadata():
                return self, (requester.reply(DescribedMetadata(image=self.image)),)
            case InitProducerId(transactional_id=None):
                return self._init_producer_id(now_ms, requester)
            case InitProducerId() | AddPartitionsToTxn() | AddOffsetsToTxn() | EndTxn() as request:
                return self._coordinated(
                    self.local_coordinators.on_request(self._context(now_ms), requester, request)
                )
            case request if isinstance(request, GroupRequest):
                return self._coordinated(
                    self.local_coordinators.on_group_request(
                        self._context(now_ms), requester, request, self.replicas
                    )
                )
            case ListGroups():
                context = self._context(now_ms)
                return self, self.local_coordinators.list_groups(context, requester, self.replicas)
            case FindCoordinator() as request:
                count = self.config.coordinator_partitions
                return self, coordinators_of.find_coordinator(
                    self._context(now_ms), requester, request, count
                )
            case request if isinstance(request, InspectionRequest):
                context = self._context(now_ms)
                response = inspection.answer(
                    request, context, self.replicas, self.local_coordinators
                )
                return self, (requester.reply(response),)
            case request if isinstance(request, AdministrationRequest):
                channel, effects = self.channel.forward(self.correlation, requester, request)
                return replace(self, channel=channel), effects
            case UpdateMetadata(image=image):
                return self._apply(now_ms, image)
            case _:
                return self, ()  # a request for the controller

    def _init_producer_id(self, now_ms: int, requester: Requester) -> StepResult[Broker]:
        if not self.channel.is_registered:
            error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            return self, (requester.reply(InitializedProducerId(error=error)),)
        initialized = InitializedProducerId(
            producer_id=self._context(now_ms).new_producer_id, producer_epoch=ProducerEpoch(0)
        )
        return self, (requester.reply(initialized),)

    # ------------------------------------------------------------ metadata

    def _apply(self, now_ms: int, image: MetadataImage) -> StepResult[Broker]:
        if not 0 <= self.broker_epoch <= image.version or image.version <= self.image.version:
            return self, ()
        broker = replace(
            self,
            image=image,
            brokers={state.broker_id: state for state in image.brokers},
            coordinators=Coordinators.of(image),
        )
        context = broker._context(now_ms)
        replicas, unassigned, effects = applied(
            self.replicas, self.unassigned, self.image, image, context
        )
        roles, begun = self.local_coordinators.apply_roles(replicas, context)
        forgotten = roles.forget_offsets(deleted(self.image, image), context, replicas)
        broker = replace(broker, replicas=replicas, unassigned=unassigned, local_coordinators=roles)
        # The controller unfences a broker that has applied its own registration.
        fenced = broker.brokers[self.config.broker_id].fenced
        last = (broker._heartbeat(),) if fenced else ()
        return broker, (*effects, *begun, *forgotten, *last)

    # ------------------------------------------------------------ answers and timers

    def _on_response(self, now_ms: int, answered: ResponseReceived) -> StepResult[Broker]:
        response: Any = answered.response
        if type(response) in RESPONSE_HANDLERS:
            role, handle = RESPONSE_HANDLERS[type(response)]
            replica = self.replicas.get(response.topic_partition)
            if not isinstance(replica, role):
                return self, ()
            after, effects = handle(replica, self._context(now_ms), answered.correlation, response)
            return self._with(after), effects
        match answered.response:
            case Produced() as produced:
                return self._coordinated(
                    self.local_coordinators.on_append_response(
                        self._context(now_ms), answered.correlation, produced
                    )
                )
            case WrittenTxnMarker() as marked:
                return self._coordinated(
                    self.local_coordinators.on_marker_response(
                        self._context(now_ms), answered.correlation, marked
                    )
                )
            case RegisteredBroker() as registered:
                return self._registered(registered)
            case BrokerHeartbeated(should_shut_down=True) if self.channel.shutting_down:
                return self._with_each(TimerKind.CHECKPOINT, now_ms), (Stopped(),)
            case answer if isinstance(answer, AdministrationResponse):
                channel, effects = self.channel.on_response(answered.correlation, answer)
                return replace(self, channel=channel), effects
            case _:  # also STALE_BROKER_EPOCH: a newer incarnation is registered, this is a zombie
                return self, ()

    def _registered(self, registered: RegisteredBroker) -> StepResult[Broker]:
        channel = self.channel.with_registration(registered)
        if channel is self.channel:
            return self, ()
        broker = replace(self, channel=channel)
        return broker, (broker._heartbeat(),)

    def _on_timer(self, now_ms: int, timer: Timer) -> StepResult[Broker]:
        match timer.kind:
            case TimerKind.HEARTBEAT:
                return self, self._call_controller(now_ms)
            case TimerKind.SHUT_DOWN:
                broker = replace(self, channel=replace(self.channel, shutting_down=True))
                return broker, (broker._heartbeat(),)
            case kind if kind in PERIODIC:
                return self._with_each(kind, now_ms), (self._timer(kind, now_ms),)
            case _:
                pass
        context, place = self._context(now_ms), timer.topic_partition
        if timer.kind is TimerKind.COORDINATOR and place is not None:
            return self._coordinated(
                self.local_coordinators.on_timer(context, place, self.replicas)
            )
        replica = self.replicas.get(place) if place else None
        if isinstance(replica, Leader) and timer.kind in TIMER_HANDLERS:
            leader, effects = TIMER_HANDLERS[timer.kind](replica, context)
            return self._with(leader), effects
        if isinstance(replica, Follower) and timer.kind is TimerKind.FETCH:
            follower, effects = partition_follower.on_fetch_timer(replica, context)
            return self._with(follower), effects
        return self, ()

    def _call_controller(self, now_ms: int) -> Effects:
        again = SetTimer(
            Timer(TimerKind.HEARTBEAT), now_ms + self.config.broker_settings.heartbeat_ms
        )
        # a registration or a heartbeat
        return (self.channel.call(self.correlation, self.image.version), again)

    def _heartbeat(self) -> Send:
        return self.channel.heartbeat(self.correlation, self.image.version)

    def _with_each(self, kind: TimerKind, now_ms: int) -> Broker:
        change, context = PERIODIC[kind].change, self._context(now_ms)
        replicas = {place: change(replica, context) for place, replica in self.replicas.items()}
        return replace(self, replicas=replicas)

    def _timer(self, kind: TimerKind, now_ms: int) -> SetTimer:
        return SetTimer(Timer(kind), now_ms + self._period(kind))

    def _period(self, kind: TimerKind) -> int:
        return PERIODIC[kind].every_ms(self.config.broker_settings)

    def _context(self, now_ms: int) -> Context:
        return Context(
            now_ms=now_ms,
            broker_id=self.config.broker_id,
            broker_epoch=self.broker_epoch,
            brokers=self.brokers,
            correlation=self.correlation,
            broker_settings=self.config.broker_settings,
            bugs=self.config.bugs,
            truncation=self.config.truncation,
            verifies_transactions=self.config.verifies_transactions,
            coordinators=self.coordinators,
            append_error=self._append_error,
        )

    def _append_error(self, topic_partition: TopicPartition, correlation: int) -> ErrorCode:
        return self.local_coordinators.append_error(topic_partition, correlation, self.config.bugs)

    def _coordinated(self, result: StepResult[LocalCoordinators]) -> StepResult[Broker]:
        coordinators, effects = result
        return replace(self, local_coordinators=coordinators), effects

    def _with(self, replica: Replica) -> Broker:
        if self.replicas.get(replica.topic_partition) is replica:
            return self
        return replace(self, replicas={**self.replicas, replica.topic_partition: replica})
