"""A broker's registration, outdated metadata, forwarded requests, and not-leader errors."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.vocabulary import (
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    Offset,
    PartitionEpoch,
    TopicPartition,
)
from reference_impl.broker.broker import Broker, Disk
from reference_impl.broker.config import BrokerConfig
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.log.segment import Batch
from reference_impl.node.settings import BrokerSettings
from reference_impl.node.step import (
    Effects,
    Readable,
    Reply,
    RequestReceived,
    ResponseReceived,
    Send,
    SetTimer,
    Timer,
    TimerFired,
    TimerKind,
)
from reference_impl.protocol.controller import (
    AlterConfigs,
    AlteredConfigs,
    BrokerHeartbeat,
    BrokerState,
    CreatedPartitions,
    CreatedTopic,
    CreatePartitions,
    CreateTopic,
    DescribedMetadata,
    Metadata,
    MetadataImage,
    PartitionState,
    RegisterBroker,
    RegisteredBroker,
    UpdateMetadata,
)
from reference_impl.protocol.messages import (
    CONTROLLER,
    FIRST_CLIENT,
    ErrorCode,
    Fetch,
    Fetched,
    InitializedProducerId,
    InitProducerId,
    ListedOffsets,
    ListOffsets,
    NodeId,
    OffsetForLeaderEpoch,
    OffsetOfLeaderEpoch,
    Produce,
    Produced,
)
from reference_impl.protocol.requests import Request, Response

TP = TopicPartition("orders", 0)
CONFIG = BrokerConfig(broker_id=BrokerId(1))
ONE_RECORD = encode([Record(value=b"v")])


def start(disk: Disk | None = None) -> Broker:
    return Broker.start(0, config=CONFIG, incarnation=1, disk=disk)[0]


def receive(broker: Broker, request: Request, correlation: int = 9) -> tuple[Broker, Effects]:
    return broker.step(0, RequestReceived(FIRST_CLIENT, correlation, request))


def registered(broker: Broker, broker_epoch: int = 10) -> Broker:
    answer = RegisteredBroker(broker_epoch=BrokerEpoch(broker_epoch))
    return broker.step(0, ResponseReceived(CONTROLLER, 1, answer))[0]


def image(version: int, *, leader: int = 1, leader_epoch: int = 0) -> UpdateMetadata:
    ids = tuple(map(BrokerId, (1, 2)))
    return UpdateMetadata(
        image=MetadataImage(
            version=version,
            brokers=tuple(
                BrokerState(broker_id=b, broker_epoch=BrokerEpoch(10), fenced=False) for b in ids
            ),
            topic_partitions=(
                (
                    TP,
                    PartitionState(
                        replicas=ids,
                        isr=ids,
                        leader=BrokerId(leader),
                        leader_epoch=LeaderEpoch(leader_epoch),
                        partition_epoch=PartitionEpoch(leader_epoch),
                    ),
                ),
            ),
        )
    )


def sent(effects: Effects) -> list[Request]:
    return [effect.request for effect in effects if isinstance(effect, Send)]


def replies(effects: Effects) -> list[object]:
    return [effect.response for effect in effects if isinstance(effect, Reply)]


def test_a_broker_registers_until_it_has_a_response_and_then_sends_heartbeats() -> None:
    broker, effects = Broker.start(0, config=CONFIG, incarnation=1)
    register = RegisterBroker(broker_id=BrokerId(1), incarnation=1)
    assert sent(effects) == [register]
    _, effects = broker.step(500, TimerFired(Timer(TimerKind.HEARTBEAT)))
    assert sent(effects) == [register]
    _, effects = registered(broker).step(500, TimerFired(Timer(TimerKind.HEARTBEAT)))
    heartbeat = BrokerHeartbeat(
        broker_id=BrokerId(1), broker_epoch=BrokerEpoch(10), metadata_version=0
    )
    assert sent(effects) == [heartbeat]


def test_an_image_older_than_the_registration_is_ignored() -> None:
    broker, _ = receive(start(), image(50))
    assert not broker.leads(TP)
    broker, _ = receive(registered(broker), image(9))
    assert not broker.leads(TP)
    broker, _ = receive(broker, image(10))
    assert broker.leads(TP)


def test_an_older_image_changes_nothing() -> None:
    broker, _ = receive(registered(start()), image(12, leader=2, leader_epoch=1))
    broker, _ = receive(broker, image(11))
    assert not broker.leads(TP)
    assert replies(receive(broker, Metadata())[1]) == [
        DescribedMetadata(image=image(12, leader=2, leader_epoch=1).image)
    ]


def test_a_leader_that_resigns_responds_to_waiting_requests() -> None:
    broker, _ = receive(registered(start()), image(10))
    broker, effects = receive(broker, Produce(topic_partition=TP, batches=ONE_RECORD))
    assert replies(effects) == []
    broker, effects = receive(broker, image(11, leader=2, leader_epoch=1))
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert [r.error for r in replies(effects) if isinstance(r, Produced)] == [error]
    assert [r.fetch_offset for r in sent(effects) if isinstance(r, Fetch)] == [1]
    assert not broker.leads(TP)


@pytest.mark.parametrize(
    ("request_", "response"),
    [
        (Produce(topic_partition=TP, batches=ONE_RECORD), Produced),
        (Fetch(topic_partition=TP, fetch_offset=Offset(0)), Fetched),
        (ListOffsets(topic_partition=TP), ListedOffsets),
        (
            OffsetForLeaderEpoch(topic_partition=TP, leader_epoch=LeaderEpoch(0)),
            OffsetOfLeaderEpoch,
        ),
    ],
)
def test_a_broker_that_does_not_lead_responds_not_leader(request_: Request, response: type) -> None:
    (answer,) = replies(receive(start(), request_)[1])
    assert isinstance(answer, response)
    assert getattr(answer, "error") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION  # noqa: B009 - of four types
    follower, _ = receive(registered(start()), image(10, leader=2))
    (answer,) = replies(receive(follower, request_)[1])
    assert getattr(answer, "error") is ErrorCode.NOT_LEADER_OR_FOLLOWER  # noqa: B009 - the same


def test_a_follower_fetches_again_after_its_backoff_and_not_before() -> None:
    """Kafka: AbstractFetcherThread.processFetchRequest, `delayPartitions`."""
    broker, effects = receive(registered(start()), image(10, leader=2))
    (first,) = [effect for effect in effects if isinstance(effect, Send)]
    refused = Fetched(topic_partition=TP, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    broker, effects = broker.step(100, ResponseReceived(first.to, first.correlation, refused))
    assert sent(effects) == []
    timer = TimerFired(Timer(TimerKind.FETCH, TP))
    again_ms = 100 + BrokerSettings().replica_fetch_backoff_ms
    assert sent(broker.step(again_ms - 1, timer)[1]) == []
    assert sent(broker.step(again_ms, timer)[1]) == [first.request]
    other = TimerFired(Timer(TimerKind.WAITS, TP))
    assert sent(broker.step(again_ms, other)[1]) == []


def test_a_topic_partition_of_other_brokers_is_known_and_not_led_here() -> None:
    update = image(10, leader=2)
    ((_, state),) = update.image.topic_partitions
    elsewhere = ((TP, replace(state, replicas=(BrokerId(2),), isr=(BrokerId(2),))),)
    update = UpdateMetadata(image=replace(update.image, topic_partitions=elsewhere))
    broker, _ = receive(registered(start()), update)
    request = ListOffsets(topic_partition=TP)
    assert replies(receive(broker, request)[1]) == [
        ListedOffsets(error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    ]


def test_a_stale_leader_epoch_is_reported_before_a_lost_leadership() -> None:
    follower, _ = receive(registered(start()), image(10, leader=2, leader_epoch=3))
    fetch = Fetch(topic_partition=TP, fetch_offset=Offset(0), current_leader_epoch=LeaderEpoch(2))
    assert replies(receive(follower, fetch)[1]) == [
        Fetched(topic_partition=TP, error=ErrorCode.FENCED_LEADER_EPOCH)
    ]


def test_acks_0_gets_a_response_only_if_it_fails() -> None:
    """A produce request with acks=0 gets a response from the broker's logic only if it fails.

    The response makes the server close the connection, as Kafka does, so that the client notices.

    Kafka: KafkaApis.handleProduceRequest.
    """
    quiet = Produce(topic_partition=TP, batches=ONE_RECORD, acks=0)
    (refused,) = replies(receive(start(), quiet)[1])
    assert refused == Produced(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    broker, _ = receive(registered(start()), image(10))
    assert replies(receive(broker, quiet)[1]) == []


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (CreateTopic(topic="t"), CreatedTopic()),
        (CreatePartitions(topic="t", topic_partitions=2), CreatedPartitions()),
        (AlterConfigs(topic="t", retention_ms=1), AlteredConfigs()),
    ],
)
def test_a_topic_request_is_forwarded_and_its_response_returned(
    request_: Request, answer: Response
) -> None:
    broker, effects = receive(start(), request_, correlation=33)
    (forward,) = [effect for effect in effects if isinstance(effect, Send)]
    assert (forward.to, forward.request) == (CONTROLLER, request_)
    broker, effects = broker.step(0, ResponseReceived(CONTROLLER, forward.correlation, answer))
    assert effects == (Reply(FIRST_CLIENT, 33, answer),)
    assert broker.step(0, ResponseReceived(CONTROLLER, forward.correlation, answer))[1] == ()


def test_a_broker_sets_no_timer_for_what_its_settings_never_do() -> None:
    def timers(settings: BrokerSettings) -> set[TimerKind]:
        config = replace(CONFIG, broker_settings=settings)
        _, effects = Broker.start(0, config=config, incarnation=1)
        return {effect.timer.kind for effect in effects if isinstance(effect, SetTimer)}

    assert TimerKind.FLUSH not in timers(BrokerSettings())
    assert TimerKind.FLUSH in timers(BrokerSettings(flush_check_ms=1_000))


def test_the_correlation_ids_of_a_brokers_requests_are_consecutive() -> None:
    broker, sent = start(), []
    for _ in range(3):
        broker, effects = receive(broker, CreateTopic(topic="t"))
        sent += [effect.correlation for effect in effects if isinstance(effect, Send)]
    assert sent == [sent[0], sent[0] + 1, sent[0] + 2]


def test_producer_ids_are_unique_over_all_incarnations() -> None:
    (refused,) = replies(receive(start(), InitProducerId())[1])
    assert refused == InitializedProducerId(error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    given: list[object] = []
    for broker_epoch in (10, 11):
        broker = registered(start(), broker_epoch)
        for _ in range(2):
            broker, effects = receive(broker, InitProducerId())
            given += replies(effects)
    assert len(set(given)) == 4


def test_an_image_changes_only_the_topic_partitions_that_it_changes() -> None:
    """If a topic partition is equal in the old and the new metadata image, the broker's state of it
    stays as it is.

    The new image adds a topic partition. Only this topic partition gets a role and becomes
    readable.

    Kafka: ReplicaManager.applyDelta.
    """
    first = image(10, leader_epoch=1)
    broker, _ = receive(registered(start()), first)
    led = broker.replicas[TP]
    other = TopicPartition("payments", 0)
    ((_, state),) = image(11, leader_epoch=1).image.topic_partitions
    both = (*first.image.topic_partitions, (other, state))
    newer = replace(first.image, version=11, topic_partitions=both)
    broker, effects = receive(broker, UpdateMetadata(image=newer))
    assert broker.replicas[TP] is led
    assert broker.leads(other)
    assert {e.topic_partition for e in effects if isinstance(e, Readable)} == {other}


def test_a_restart_recovers_the_logs_that_the_crash_left() -> None:
    log = PartitionLog().append(Batch.of(encode([Record(value=b"v")], leader_epoch=LeaderEpoch(0))))
    broker = start({TP: log})
    assert broker.disk() == {TP: log}  # also before any metadata has come
    broker, _ = receive(registered(broker), image(10, leader_epoch=1))
    assert broker.disk()[TP].end_offset == 1
    fetched = receive(broker, Fetch(topic_partition=TP, fetch_offset=Offset(0)))[1]
    assert isinstance(replies(fetched)[0], Fetched)


def test_a_checkpoint_writes_high_watermark_and_records_to_disk() -> None:
    log = PartitionLog().append(Batch.of(encode([Record(value=b"v")], leader_epoch=LeaderEpoch(0))))
    broker, _ = receive(registered(start({TP: log})), image(10, leader=2))
    assert broker.disk()[TP].flushed == 0
    broker, effects = broker.step(7, TimerFired(Timer(TimerKind.CHECKPOINT)))
    assert broker.disk()[TP].flushed == 1
    assert len(effects) == 1


def test_inconsistent_timeouts_are_rejected() -> None:
    with pytest.raises(ValueError, match="session_timeout_ms must be longer than heartbeat_ms"):
        BrokerSettings(heartbeat_ms=10, session_timeout_ms=10)


def test_an_unexpected_response_changes_only_the_step_count() -> None:
    broker = registered(start())
    answer = Fetched(topic_partition=TP, batches=ONE_RECORD)
    after, effects = broker.step(0, ResponseReceived(NodeId(2), 5, answer))
    assert effects == ()
    assert after.replicas == broker.replicas
