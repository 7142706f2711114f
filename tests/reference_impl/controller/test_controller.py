"""The controller: registration, fencing, leader elections, and rejected proposals."""

from __future__ import annotations

import pytest

from model.vocabulary import BrokerEpoch, BrokerId, LeaderEpoch, PartitionEpoch, TopicPartition
from reference_impl.controller.controller import Controller
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.settings import BrokerSettings
from reference_impl.node.step import (
    Effects,
    Reply,
    RequestReceived,
    Send,
    SetTimer,
    Timer,
    TimerFired,
    TimerKind,
)
from reference_impl.protocol.controller import (
    AlteredPartition,
    AlterPartition,
    BrokerHeartbeat,
    BrokerHeartbeated,
    CreatedTopic,
    CreateTopic,
    PartitionState,
    RegisterBroker,
    RegisteredBroker,
    UpdateMetadata,
)
from reference_impl.protocol.messages import CONTROLLER, FIRST_CLIENT, NO_BROKER, ErrorCode, NodeId
from reference_impl.protocol.requests import Request, Response

TP = TopicPartition("orders", 0)
SESSION_MS = BrokerSettings().session_timeout_ms


class ControllerHarness:
    def __init__(self, bugs: Bugs = NO_BUGS) -> None:
        self.controller, _ = Controller.start(0, broker_settings=BrokerSettings(), bugs=bugs)
        self.now_ms = 0
        self.updates: list[UpdateMetadata] = []

    def call(self, request: Request, sender: int = FIRST_CLIENT) -> Response:
        self.controller, effects = self.controller.step(
            self.now_ms, RequestReceived(NodeId(sender), 1, request)
        )
        (response,) = [effect.response for effect in effects if isinstance(effect, Reply)]
        self._hear(effects)
        return response

    def check_sessions(self) -> None:
        self.controller, effects = self.controller.step(
            self.now_ms, TimerFired(Timer(TimerKind.SESSIONS))
        )
        assert any(isinstance(effect, SetTimer) for effect in effects)
        self._hear(effects)

    def _hear(self, effects: Effects) -> None:
        for effect in effects:
            if isinstance(effect, Send) and isinstance(effect.request, UpdateMetadata):
                self.updates.append(effect.request)

    def register(self, broker: int, incarnation: int = 1) -> RegisteredBroker:
        answer = self.call(
            RegisterBroker(broker_id=BrokerId(broker), incarnation=incarnation), broker
        )
        assert isinstance(answer, RegisteredBroker)
        return answer

    def heartbeat(
        self, broker: int, *, version: int | None = None, broker_epoch: int | None = None
    ) -> BrokerHeartbeated:
        known = self.controller.brokers.get(BrokerId(broker))
        answer = self.call(
            BrokerHeartbeat(
                broker_id=BrokerId(broker),
                broker_epoch=BrokerEpoch(
                    broker_epoch if broker_epoch is not None else known.broker_epoch if known else 0
                ),
                metadata_version=self.controller.version if version is None else version,
            ),
            broker,
        )
        assert isinstance(answer, BrokerHeartbeated)
        return answer

    def silence(self, *brokers: int) -> None:
        self.now_ms += SESSION_MS
        for broker in self.controller.brokers:
            if broker not in brokers:
                self.heartbeat(broker)
        self.check_sessions()

    @property
    def state(self) -> PartitionState:
        return self.controller.topic_partitions[TP]


def cluster(bugs: Bugs = NO_BUGS, min_insync_replicas: int = 1) -> ControllerHarness:
    talk = ControllerHarness(bugs)
    for broker in (1, 2, 3):
        talk.register(broker)
        talk.heartbeat(broker)
    talk.call(CreateTopic(topic="orders", min_insync_replicas=min_insync_replicas))
    return talk


@pytest.fixture
def talk() -> ControllerHarness:
    return cluster()


def where(state: PartitionState) -> tuple[int, tuple[int, ...], int, int]:
    return state.leader, state.isr, state.leader_epoch, state.partition_epoch


def test_a_new_topic_is_led_by_its_first_replica_with_all_in_sync(talk: ControllerHarness) -> None:
    assert where(talk.state) == (1, (1, 2, 3), 0, 0)
    assert talk.updates[-1].image.topic_partitions == ((TP, talk.state),)


def test_a_broker_is_fenced_until_it_has_applied_its_own_registration() -> None:
    talk = ControllerHarness()
    broker_epoch = talk.register(1).broker_epoch
    assert talk.heartbeat(1, version=broker_epoch - 1).fenced
    assert not talk.heartbeat(1, version=broker_epoch).fenced
    assert talk.register(2).broker_epoch > broker_epoch


def test_a_second_registration_waits_for_the_end_of_the_first_session(
    talk: ControllerHarness,
) -> None:
    first = talk.controller.brokers[BrokerId(1)].broker_epoch
    assert talk.register(1, incarnation=1).broker_epoch == first  # the answer had been lost
    assert talk.register(1, incarnation=2).error is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    talk.now_ms += SESSION_MS
    assert talk.register(1, incarnation=2).broker_epoch > first
    assert talk.heartbeat(1, broker_epoch=first).error is ErrorCode.STALE_BROKER_EPOCH
    assert talk.heartbeat(9).error is ErrorCode.BROKER_ID_NOT_REGISTERED


def test_fencing_the_leader_elects_the_next_in_sync_replica_in_one_change(
    talk: ControllerHarness,
) -> None:
    talk.silence(1)
    assert where(talk.state) == (2, (2, 3), 1, 1)


def test_fencing_a_follower_leaves_the_leader_epoch_alone(talk: ControllerHarness) -> None:
    talk.silence(3)
    assert where(talk.state) == (1, (1, 2), 0, 1)


def test_without_its_last_in_sync_replica_a_partition_has_no_leader(
    talk: ControllerHarness,
) -> None:
    talk.silence(1)
    talk.silence(1, 2)
    talk.silence(1, 2, 3)
    assert where(talk.state) == (NO_BROKER, (), 3, 3)
    assert talk.state.elr == (3,)
    talk.heartbeat(1)
    talk.heartbeat(2)
    assert talk.state.leader == NO_BROKER  # they are back, and have less
    talk.heartbeat(3)
    assert where(talk.state) == (3, (3,), 4, 4)


def test_after_an_unclean_shutdown_a_broker_is_last_known_leader_and_not_eligible(
    talk: ControllerHarness,
) -> None:
    for silent in ((1,), (1, 2), (1, 2, 3)):
        talk.silence(*silent)
    assert sorted(talk.state.elr) == [3]
    talk.register(3, incarnation=2)  # and tells no broker epoch of a clean shutdown
    assert sorted(talk.state.elr) == []
    assert talk.state.last_known_leader == 3
    talk.heartbeat(1)
    assert talk.state.leader == NO_BROKER
    talk.heartbeat(3)
    assert (talk.state.leader, talk.state.isr, talk.state.recovering) == (3, (3,), True)
    assert propose(talk, (3,), broker=3).state == talk.state
    assert not talk.state.recovering


def test_after_a_clean_shutdown_a_broker_stays_eligible(talk: ControllerHarness) -> None:
    for silent in ((1,), (1, 2), (1, 2, 3)):
        talk.silence(*silent)
    last_life = talk.controller.brokers[BrokerId(3)].broker_epoch
    talk.call(
        RegisterBroker(broker_id=BrokerId(3), incarnation=2, previous_broker_epoch=last_life), 3
    )
    assert talk.state.elr == (3,)
    talk.heartbeat(3)
    assert (talk.state.leader, talk.state.recovering) == (3, False)


def test_unclean_election_elects_any_live_replica(talk: ControllerHarness) -> None:
    talk.call(CreateTopic(topic="lossy", unclean_leader_election=True))
    for silent in ((1,), (1, 2), (1, 2, 3)):
        talk.silence(*silent)
    talk.heartbeat(1)
    lossy = talk.controller.topic_partitions[TopicPartition("lossy", 0)]
    assert (lossy.leader, lossy.isr, lossy.elr, lossy.recovering) == (1, (1,), (), True)
    assert talk.state.leader == NO_BROKER


def test_a_broker_that_missed_an_image_gets_it_with_its_next_heartbeat(
    talk: ControllerHarness,
) -> None:
    before = len(talk.updates)
    talk.heartbeat(2)
    assert len(talk.updates) == before
    talk.heartbeat(2, version=1)
    assert talk.updates[before:] == [UpdateMetadata(image=talk.controller.image)]


def propose(talk: ControllerHarness, isr: tuple[int, ...], **other: int) -> AlteredPartition:
    broker = other.get("broker", 1)
    known = talk.controller.brokers.get(BrokerId(broker))
    answer = talk.call(
        AlterPartition(
            topic_partition=TopicPartition("orders", other.get("index", 0)),
            broker_id=BrokerId(broker),
            broker_epoch=BrokerEpoch(other.get("broker_epoch", known.broker_epoch if known else 0)),
            leader_epoch=LeaderEpoch(other.get("leader_epoch", talk.state.leader_epoch)),
            partition_epoch=PartitionEpoch(
                other.get("partition_epoch", talk.state.partition_epoch)
            ),
            isr=tuple(
                (BrokerId(member), BrokerEpoch(other.get("member_epoch", -1))) for member in isr
            ),
            recovering=bool(other.get("recovering")),
        ),
        broker,
    )
    assert isinstance(answer, AlteredPartition)
    return answer


def test_an_accepted_proposal_increments_only_the_partition_epoch(talk: ControllerHarness) -> None:
    assert propose(talk, (2, 1)).state == talk.state
    assert where(talk.state) == (1, (1, 2), 0, 1)
    before = talk.controller
    assert propose(talk, (1, 2)).state == talk.state  # nothing changes, nothing is written
    assert talk.controller == before


@pytest.mark.parametrize(
    ("isr", "other", "error"),
    [
        ((1,), {"broker_epoch": 0}, ErrorCode.STALE_BROKER_EPOCH),
        ((1,), {"index": 5}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ((1,), {"leader_epoch": 9}, ErrorCode.NOT_CONTROLLER),
        ((1,), {"partition_epoch": 9}, ErrorCode.NOT_CONTROLLER),
        ((1,), {"leader_epoch": 0, "broker": 2}, ErrorCode.FENCED_LEADER_EPOCH),
        ((1,), {"broker": 3}, ErrorCode.INVALID_REQUEST),
        ((2,), {"partition_epoch": 0, "broker": 2}, ErrorCode.INVALID_UPDATE_VERSION),
        ((2, 7), {"broker": 2}, ErrorCode.INVALID_REQUEST),
        ((2, 2), {"broker": 2}, ErrorCode.INVALID_REQUEST),
        ((3,), {"broker": 2}, ErrorCode.INVALID_REQUEST),
        ((2, 3), {"broker": 2, "recovering": 1}, ErrorCode.INVALID_REQUEST),
        ((2,), {"broker": 2, "recovering": 1}, ErrorCode.INVALID_REQUEST),  # its election was clean
        ((2, 1), {"broker": 2}, ErrorCode.INELIGIBLE_REPLICA),  # broker 1 is fenced
        ((2, 3), {"broker": 2, "member_epoch": 0}, ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_a_proposal_is_rejected_for_the_first_reason_in_order(
    talk: ControllerHarness, isr: tuple[int, ...], other: dict[str, int], error: ErrorCode
) -> None:
    talk.silence(1)  # now broker 2 leads in leader epoch 1, partition epoch 1
    before = talk.controller
    assert propose(talk, isr, **other) == AlteredPartition(
        topic_partition=TopicPartition("orders", other.get("index", 0)), error=error
    )
    assert talk.controller == before


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (CreateTopic(topic="orders"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (CreateTopic(topic="no/slash"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (CreateTopic(topic=""), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (CreateTopic(topic=".."), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (CreateTopic(topic="n" * 250), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (CreateTopic(topic="new", topic_partitions=0), ErrorCode.INVALID_PARTITIONS),
        (CreateTopic(topic="new", replication_factor=4), ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
)
def test_an_invalid_topic_is_rejected_with_a_reason(
    talk: ControllerHarness, request_: CreateTopic, error: ErrorCode
) -> None:
    answer = talk.call(request_)
    assert isinstance(answer, CreatedTopic)
    assert answer.error is error
    assert answer.message


def test_a_topic_name_may_have_punctuation_only(talk: ControllerHarness) -> None:
    assert talk.call(CreateTopic(topic="__._-")) == CreatedTopic()


def test_replicas_are_placed_round_robin_on_live_brokers(talk: ControllerHarness) -> None:
    talk.silence(2)
    talk.call(CreateTopic(topic="new", topic_partitions=3, replication_factor=2))
    replicas = [
        talk.controller.topic_partitions[TopicPartition("new", i)].replicas for i in range(3)
    ]
    assert replicas == [(1, 3), (3, 1), (1, 3)]


def test_the_controller_ignores_requests_for_brokers(talk: ControllerHarness) -> None:
    before = talk.controller
    after, effects = before.step(
        0, RequestReceived(CONTROLLER, 1, UpdateMetadata(image=before.image))
    )
    assert (after, effects) == (before, ())


# ---------------------------------------------------------------- seeded bugs


@pytest.mark.parametrize(
    ("bugs", "leader"), [(NO_BUGS, NO_BROKER), (frozenset({Bug.DEAD_LEADER_RETURNS}), 1)]
)
def test_bug_dead_leader_returns_elects_a_fenced_broker(bugs: Bugs, leader: int) -> None:
    talk = cluster(bugs)
    talk.silence(3)
    talk.silence(2, 3)
    talk.silence(1, 2, 3)
    assert (talk.state.isr, talk.state.elr, talk.state.last_known_leader) == ((), (1,), 1)
    talk.register(1, incarnation=2)  # its log may be shorter: no replica is eligible
    assert talk.state.leader == leader
    assert talk.controller.brokers[BrokerId(1)].fenced


@pytest.mark.parametrize(
    ("bugs", "leader"), [(NO_BUGS, NO_BROKER), (frozenset({Bug.UNCLEAN_SHUTDOWN_UNNOTICED}), 2)]
)
def test_bug_unclean_shutdown_unnoticed_elects_a_broker_with_a_shorter_log(
    bugs: Bugs, leader: int
) -> None:
    talk = cluster(bugs, min_insync_replicas=2)
    talk.silence(3)
    talk.silence(2, 3)
    talk.silence(1, 2, 3)
    assert (talk.state.isr, talk.state.elr) == ((), (1, 2))
    talk.register(2, incarnation=2)
    talk.heartbeat(2)
    assert (talk.state.leader, talk.state.recovering) == (leader, False)
    assert (2 in talk.state.elr) is False
