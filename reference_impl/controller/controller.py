"""The controller: it registers and fences brokers, and decides the leader and the ISR of each
partition.

After each change, the controller sends a new version of the metadata image to all registered
brokers. If a broker's heartbeat shows an older version, the controller sends the newest image to
this broker again. A broker's epoch is the version of the first image that contains its
registration.

If a broker registers after an unclean shutdown, it is removed from the ELR of each partition.

Source: KIP-497, KIP-500, KIP-631, KIP-903, KIP-966; docs/kafka-rules.md B1 to B6.
Simplified: there is one controller, which continues with its stored metadata after a crash. A
broker that wants to shut down is fenced at once. Kafka fences such a broker when it no longer leads
any partition. A preferred leader is elected only on request. Kafka also elects preferred leaders at
an interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from model.vocabulary import BrokerEpoch, BrokerId, TopicPartition
from reference_impl.controller import (
    elections,
    reassignments,
    requested_elections,
    topic_configs,
    topics,
)
from reference_impl.controller.alter_partition import alter_error
from reference_impl.controller.client_metrics import alter_client_metrics
from reference_impl.controller.client_quotas import alter_quotas
from reference_impl.controller.cluster_state import Changes, ClusterState, States
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.settings import KAFKA_SETTINGS, BrokerSettings
from reference_impl.node.step import (
    Effects,
    Input,
    Reply,
    RequestReceived,
    Send,
    SetTimer,
    StepResult,
    Timer,
    TimerFired,
    TimerKind,
)
from reference_impl.protocol.client_metrics import AlterClientMetrics, Subscriptions
from reference_impl.protocol.client_quotas import AlterQuotas, Quotas
from reference_impl.protocol.controller import (
    NO_METADATA,
    AdministrationRequest,
    AlteredPartition,
    AlterPartition,
    BrokerHeartbeat,
    BrokerHeartbeated,
    BrokerState,
    DeleteTopic,
    ElectedLeader,
    ElectLeader,
    MetadataImage,
    PartitionState,
    RegisterBroker,
    RegisteredBroker,
    UpdateMetadata,
)
from reference_impl.protocol.messages import NO_BROKER, ErrorCode, NodeId
from reference_impl.protocol.requests import Response
from reference_impl.protocol.topic_defaults import NO_DEFAULTS, AlterDefaults, TopicDefaults

_SESSIONS: Final = Timer(TimerKind.SESSIONS)
_HANDLERS: Final = {
    **topics.HANDLERS,
    **topic_configs.HANDLERS,
    **requested_elections.HANDLERS,
    **reassignments.HANDLERS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    incarnation: int
    last_heartbeat_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    broker_settings: BrokerSettings = KAFKA_SETTINGS
    elr: bool = True  # eligible.leader.replicas.version >= 1, as in every new cluster since 4.1
    bugs: Bugs = NO_BUGS
    version: int = 0
    brokers: Mapping[BrokerId, BrokerState] = field(default_factory=dict[BrokerId, BrokerState])
    sessions: Mapping[BrokerId, Session] = field(default_factory=dict[BrokerId, Session])
    topic_partitions: Mapping[TopicPartition, PartitionState] = field(
        default_factory=dict[TopicPartition, PartitionState]
    )
    deletions: Mapping[str, int] = field(default_factory=dict[str, int])  # by topic
    defaults: TopicDefaults = NO_DEFAULTS
    quotas: Quotas = ()
    client_metrics: Subscriptions = ()
    image: MetadataImage = NO_METADATA

    @classmethod
    def start(
        cls,
        now_ms: int,
        *,
        broker_settings: BrokerSettings,
        elr: bool = True,
        bugs: Bugs = NO_BUGS,
        image: MetadataImage = NO_METADATA,
    ) -> StepResult[Controller]:
        """Returns a controller with the metadata of `image`, and the timer of its first session
        check. This check fences each broker of `image` that has sent nothing for one session
        timeout.

        The topic defaults in `broker_settings` replace the topic defaults of an earlier start.
        """
        expired_ms = now_ms - broker_settings.session_timeout_ms
        known = {state.broker_id: state for state in image.brokers}
        controller = cls(
            broker_settings=broker_settings,
            elr=elr,
            bugs=bugs,
            version=image.version,
            brokers=known,
            sessions=dict.fromkeys(known, Session(incarnation=0, last_heartbeat_ms=expired_ms)),
            topic_partitions=dict(image.topic_partitions),
            deletions=dict(image.deletions),
            defaults=image.defaults,
            quotas=image.quotas,
            client_metrics=image.client_metrics,
            image=image,
        )._with_start_defaults()
        if known:
            return controller, (SetTimer(_SESSIONS, now_ms + broker_settings.session_timeout_ms),)
        return controller, (controller._session_timer(now_ms),)

    def _with_start_defaults(self) -> Controller:
        before, at_start = self.defaults, self.broker_settings.topic_defaults
        defaults = before.started(at_start, is_first=not self.version)
        if defaults == before:
            return self
        names = {name for kept in (before.at_start, at_start) for name, _ in kept.set_values()}
        changes = topic_configs.with_defaults(
            self._cluster(), defaults, names - dict(before.set_values()).keys()
        )
        return replace(self, defaults=defaults, topic_partitions=self._changed(changes))

    def _changed(self, changes: Changes) -> States:
        changed = {**self.topic_partitions, **changes}
        return {place: state for place, state in changed.items() if state is not None}

    def step(self, now_ms: int, event: Input) -> StepResult[Controller]:
        match event:
            case RequestReceived(sender, correlation, request):
                match request:
                    case RegisterBroker():
                        after, answer = self._register(now_ms, request)
                    case BrokerHeartbeat():
                        after, answer = self._heartbeat(now_ms, request)
                    case AlterPartition():
                        after, answer = self._alter(request)
                    case AlterQuotas():
                        after, answer = self._alter_quotas(request)
                    case AlterClientMetrics():
                        after, answer = self._alter_client_metrics(request)
                    case request if isinstance(request, AdministrationRequest):
                        after, answer = self._administer(request)
                    case ElectLeader():
                        after, answer = self._elect(request)
                    case _:
                        return self, ()  # a request for brokers
                reply = Reply(sender, correlation, answer)
                after, published = after._published(self)
                if not published and isinstance(request, BrokerHeartbeat):
                    published = after._missed_metadata(sender, request)
                return after, (reply, *published)
            case TimerFired():
                after, published = self._fence_expired(now_ms)._published(self)
                return after, (*published, self._session_timer(now_ms))
            case _:
                return self, ()  # the controller sends no requests that have responses

    # ------------------------------------------------------------ brokers

    def _register(self, now_ms: int, request: RegisterBroker) -> tuple[Controller, Response]:
        broker_id = request.broker_id
        session = self.sessions.get(broker_id)
        if session is not None and session.incarnation == request.incarnation:
            # The registration has succeeded; its response was lost.
            return self, RegisteredBroker(broker_epoch=self.brokers[broker_id].broker_epoch)
        if (
            session is not None
            and now_ms - session.last_heartbeat_ms < self.broker_settings.session_timeout_ms
        ):
            return self, RegisteredBroker(error=ErrorCode.DUPLICATE_BROKER_REGISTRATION)
        known = self.brokers.get(broker_id)
        is_clean = known is None or known.broker_epoch == request.previous_broker_epoch
        is_noticed = not is_clean and Bug.UNCLEAN_SHUTDOWN_UNNOTICED not in self.bugs
        fenced = self._fenced(broker_id, unclean_shutdown=is_noticed)
        broker_epoch = BrokerEpoch(fenced.version + 1)
        state = BrokerState(broker_id=broker_id, broker_epoch=broker_epoch, fenced=True)
        after = replace(
            fenced,
            version=fenced.version + 1,
            brokers={**fenced.brokers, broker_id: state},
            sessions={
                **fenced.sessions,
                broker_id: Session(incarnation=request.incarnation, last_heartbeat_ms=now_ms),
            },
        )
        return after, RegisteredBroker(broker_epoch=broker_epoch)

    def _heartbeat(self, now_ms: int, request: BrokerHeartbeat) -> tuple[Controller, Response]:
        broker_id = request.broker_id
        state, session = self.brokers.get(broker_id), self.sessions.get(broker_id)
        if state is None:
            return self, BrokerHeartbeated(error=ErrorCode.BROKER_ID_NOT_REGISTERED)
        if session is None or state.broker_epoch != request.broker_epoch:
            return self, BrokerHeartbeated(error=ErrorCode.STALE_BROKER_EPOCH)
        heard = replace(session, last_heartbeat_ms=now_ms)
        after = replace(self, sessions={**self.sessions, broker_id: heard})
        if request.wants_shut_down:
            return after._fenced(broker_id), BrokerHeartbeated(should_shut_down=True)
        if state.fenced and request.metadata_version >= state.broker_epoch:
            after = after._unfenced(broker_id)
        return after, BrokerHeartbeated(fenced=after.brokers[broker_id].fenced)

    def _unfenced(self, broker_id: BrokerId) -> Controller:
        broker = replace(self.brokers[broker_id], fenced=False)
        after = replace(self, version=self.version + 1, brokers={**self.brokers, broker_id: broker})
        led = {
            topic_partition: decided
            for topic_partition, state in self.topic_partitions.items()
            if state.leader == NO_BROKER and broker_id in state.replicas
            for decided in (after._partition_change(topic_partition, state, state.isr),)
            if decided.leader != NO_BROKER
        }
        return replace(after, topic_partitions={**self.topic_partitions, **led})

    def _fenced(self, broker_id: BrokerId, *, unclean_shutdown: bool = False) -> Controller:
        broker = self.brokers.get(broker_id)
        if broker is None or (broker.fenced and not unclean_shutdown):
            return self
        after = replace(
            self,
            version=self.version + 1,
            brokers={**self.brokers, broker_id: replace(broker, fenced=True)},
        )
        changed = {
            topic_partition: elections.change_without(
                state,
                broker_id,
                after._may_lead,
                elr=self.elr,
                unclean_shutdown=unclean_shutdown,
                min_isr=elections.effective_min_isr(self.topic_partitions, topic_partition),
                bugs=self.bugs,
            )
            for topic_partition, state in self.topic_partitions.items()
            if broker_id in (*state.isr, *(state.elr if unclean_shutdown else ()))
        }
        return replace(after, topic_partitions={**self.topic_partitions, **changed})

    def _fence_expired(self, now_ms: int) -> Controller:
        after = self
        # One after the other, since each fencing may cause elections (KAFKA-13173).
        for broker_id, session in self.sessions.items():
            if now_ms - session.last_heartbeat_ms >= self.broker_settings.session_timeout_ms:
                after = after._fenced(broker_id)
        return after

    def _may_lead(self, broker_id: BrokerId) -> bool:
        state = self.brokers.get(broker_id)
        return state is not None and not state.fenced

    def _partition_change(
        self, place: TopicPartition, state: PartitionState, isr: tuple[BrokerId, ...]
    ) -> PartitionState:
        min_isr = elections.effective_min_isr(self.topic_partitions, place)
        return elections.partition_change(
            state, isr, self._may_lead, elr=self.elr, min_isr=min_isr, bugs=self.bugs
        )

    # ------------------------------------------------------------ topic partitions

    def _alter(self, request: AlterPartition) -> tuple[Controller, Response]:
        topic_partition = request.topic_partition
        state = self.topic_partitions.get(topic_partition)
        error = alter_error(request, state, self.brokers)
        if state is None or error is not ErrorCode.NONE:
            return self, AlteredPartition(topic_partition=topic_partition, error=error)
        members = {broker for broker, _ in request.isr}
        isr = tuple(broker for broker in state.replicas if broker in members)
        if isr == state.isr and request.recovering == state.recovering:
            return self, AlteredPartition(topic_partition=topic_partition, state=state)
        changed = self._partition_change(topic_partition, state, isr)
        altered = replace(changed, recovering=request.recovering)
        after = replace(
            self,
            version=self.version + 1,
            topic_partitions={**self.topic_partitions, topic_partition: altered},
        )
        if altered.leader != request.broker_id:
            # The change completes a reassignment that removes the leader.
            elected = ErrorCode.NEW_LEADER_ELECTED
            return after, AlteredPartition(topic_partition=topic_partition, error=elected)
        return after, AlteredPartition(topic_partition=topic_partition, state=altered)

    def _cluster(self) -> ClusterState:
        return ClusterState(
            states=self.topic_partitions,
            registered=frozenset(self.brokers),
            deletions=self.deletions,
            defaults=self.defaults,
            alive=[broker for broker in sorted(self.brokers) if self._may_lead(broker)],
            elr=self.elr,
            bugs=self.bugs,
        )

    def _administer(self, request: AdministrationRequest) -> tuple[Controller, Response]:
        changes, answer = _HANDLERS[type(request)](self._cluster(), request)
        defaults = self.defaults
        if isinstance(request, AlterDefaults):
            defaults = request.applied_to(defaults)
        if not changes and defaults == self.defaults:
            return self, answer
        deletions = self.deletions
        if isinstance(request, DeleteTopic):
            deletions = {**deletions, request.topic: deletions.get(request.topic, 0) + 1}
        after = replace(
            self,
            version=self.version + 1,
            topic_partitions=self._changed(changes),
            deletions=deletions,
            defaults=defaults,
        )
        return after, answer

    def _alter_quotas(self, request: AlterQuotas) -> tuple[Controller, Response]:
        quotas, answer = alter_quotas(self.quotas, request)
        if quotas == self.quotas:
            return self, answer
        return replace(self, version=self.version + 1, quotas=quotas), answer

    def _alter_client_metrics(self, request: AlterClientMetrics) -> tuple[Controller, Response]:
        subscriptions, answer = alter_client_metrics(self.client_metrics, request)
        if subscriptions == self.client_metrics:
            return self, answer
        return replace(self, version=self.version + 1, client_metrics=subscriptions), answer

    def _elect(self, request: ElectLeader) -> tuple[Controller, Response]:
        place = request.topic_partition
        state = self.topic_partitions.get(place)
        if state is None:
            unknown, message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no {place}"
            return self, ElectedLeader(error=unknown, message=message)
        elected = elections.with_leader(state, request.broker, self._may_lead)
        if elected is None:
            message = f"{place} has the ISR {state.isr}: name a live member that does not lead"
            return self, ElectedLeader(error=ErrorCode.INELIGIBLE_REPLICA, message=message)
        states = {**self.topic_partitions, place: elected}
        return replace(self, version=self.version + 1, topic_partitions=states), ElectedLeader()

    # ------------------------------------------------------------ publishing the image

    def _published(self, before: Controller) -> StepResult[Controller]:
        if self.version == before.version:
            return self, ()
        image = MetadataImage(
            version=self.version,
            brokers=tuple(self.brokers[broker] for broker in sorted(self.brokers)),
            topic_partitions=tuple(sorted(self.topic_partitions.items(), key=lambda row: row[0])),
            deletions=tuple(sorted(self.deletions.items())),
            defaults=self.defaults,
            quotas=self.quotas,
            client_metrics=self.client_metrics,
        )
        update = UpdateMetadata(image=image)
        return replace(self, image=image), tuple(
            Send(NodeId(state.broker_id), image.version, update) for state in image.brokers
        )

    def _missed_metadata(self, sender: NodeId, request: BrokerHeartbeat) -> Effects:
        if request.metadata_version >= self.version:
            return ()
        return (Send(sender, self.version, UpdateMetadata(image=self.image)),)

    def _session_timer(self, now_ms: int) -> SetTimer:
        return SetTimer(_SESSIONS, now_ms + self.broker_settings.session_timeout_ms // 4)
