"""Changes of topics: more partitions, changed configurations, and their effects on brokers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.vocabulary import BrokerId, LeaderEpoch, PartitionEpoch, TopicPartition
from reference_impl.broker.broker import Broker
from reference_impl.controller.cluster_state import ClusterState, States
from reference_impl.controller.topic_configs import alter_configs
from reference_impl.controller.topics import create_partitions, create_topic
from reference_impl.protocol.controller import (
    AlterConfigs,
    AlteredConfigs,
    CreatedPartitions,
    CreatePartitions,
    CreateTopic,
    PartitionState,
)
from reference_impl.protocol.coordinators import CONSUMER_OFFSETS
from reference_impl.protocol.messages import NO_BROKER, ErrorCode, NodeId
from reference_impl.protocol.topic_config import CleanupPolicy, LogConfig
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.cluster import TOPIC_PARTITION, Cluster
from reference_impl.simulation.programs import Application, Call, Pause, Program
from reference_impl.simulation.reader import Reader
from reference_impl.simulation.sender import Sender

InstantCluster = Any  # of conftest
StartCluster = Callable[..., InstantCluster]
FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


def known(states: States | None = None, alive: tuple[int, ...] = (1, 2, 3)) -> ClusterState:
    return ClusterState(states=states or {}, alive=tuple(map(BrokerId, alive)))


def orders(**config: Any) -> States:
    return create_topic(known(), CreateTopic(topic="orders", replication_factor=2, **config))[0]


def without_a_leader(**values: Any) -> PartitionState:
    """Returns the registration of a topic partition without a leader.

    Its last in-sync replica is fenced, so no replica may lead.
    """
    return replace(
        orders(min_insync_replicas=2)[FIRST],
        isr=(),
        elr=(BrokerId(2),),
        leader=NO_BROKER,
        last_known_leader=BrokerId(2),
        leader_epoch=LeaderEpoch(3),
        partition_epoch=PartitionEpoch(5),
        **values,
    )


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("existing", "name", "error"),
    [
        ("a_b", "a.b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("a.b", "a_b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("a.b", "a-b", ErrorCode.NONE),
        ("a.b", "a.b", ErrorCode.TOPIC_ALREADY_EXISTS),
    ],
)
def test_a_period_collides_with_an_underscore(existing: str, name: str, error: ErrorCode) -> None:
    """Topic names that differ only in `.` and `_` collide, so the second topic is rejected.

    Kafka: ReplicationControlManager.validateNewTopicNames.
    """
    states, _ = create_topic(known(), CreateTopic(topic=existing))
    _, answer = create_topic(known(states), CreateTopic(topic=name))
    assert answer.error is error
    if error is ErrorCode.INVALID_TOPIC_EXCEPTION:
        assert answer.message == f"Topic '{name}' collides with existing topic: {existing}"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "Topic name is invalid: the empty string is not allowed"),
        ("..", "Topic name is invalid: '..' is not allowed"),
        (
            "no/slash",
            "Topic name is invalid: 'no/slash' contains one or more characters other than ASCII "
            "alphanumerics, '.', '_' and '-'",
        ),
    ],
)
def test_an_invalid_name_is_refused_in_kafka_s_words(name: str, message: str) -> None:
    """The error for an invalid topic name has the same text as in Kafka.

    Kafka: Topic.validate.
    """
    _, answer = create_topic(known(), CreateTopic(topic=name))
    assert (answer.error, answer.message) == (ErrorCode.INVALID_TOPIC_EXCEPTION, message)


# ---------------------------------------------------------------- growth


@given(
    first=st.integers(1, 4), more=st.integers(1, 4), alive=st.sets(st.integers(1, 5), min_size=2)
)
def test_a_grown_topic_equals_one_created_with_that_size(
    first: int, more: int, alive: set[int]
) -> None:
    at = known(alive=tuple(sorted(alive)))
    values: dict[str, Any] = {"replication_factor": 2, "log_config": LogConfig(retention_ms=1)}
    small, _ = create_topic(at, CreateTopic(topic="orders", topic_partitions=first, **values))
    large, _ = create_topic(
        at, CreateTopic(topic="orders", topic_partitions=first + more, **values)
    )
    new, answer = create_partitions(
        replace(at, states=small), CreatePartitions(topic="orders", topic_partitions=first + more)
    )
    assert answer == CreatedPartitions()
    assert {**small, **new} == large
    assert not small.keys() & new.keys()


def test_new_partitions_have_the_configuration_of_the_topic_and_epoch_0() -> None:
    states = {FIRST: without_a_leader(log_config=LogConfig(retention_ms=7))}
    new, _ = create_partitions(known(states), CreatePartitions(topic="orders", topic_partitions=2))
    assert new == {
        SECOND: PartitionState(
            replicas=(BrokerId(2), BrokerId(3)),
            isr=(BrokerId(2), BrokerId(3)),
            leader=BrokerId(2),
            leader_epoch=LeaderEpoch(0),
            partition_epoch=PartitionEpoch(0),
            min_insync_replicas=2,
            log_config=LogConfig(retention_ms=7),
        )
    }


@pytest.mark.parametrize(
    ("request_", "alive", "error"),
    [
        (CreatePartitions(topic="nope", topic_partitions=2), 3, 3),
        (CreatePartitions(topic=CONSUMER_OFFSETS, topic_partitions=9), 3, 37),
        (CreatePartitions(topic="orders", topic_partitions=1), 3, 37),
        (CreatePartitions(topic="orders", topic_partitions=0), 3, 37),
        (CreatePartitions(topic="orders", topic_partitions=2), 1, 38),
    ],
)
def test_a_rejected_growth_changes_nothing_and_has_a_reason(
    request_: CreatePartitions, alive: int, error: int
) -> None:
    internal = create_topic(known(), CreateTopic(topic=CONSUMER_OFFSETS))[0]
    at = known({**orders(), **internal}, alive=tuple(range(1, alive + 1)))
    new, answer = create_partitions(at, request_)
    assert (new, answer.error) == ({}, ErrorCode(error))
    assert request_.topic in answer.message or "live brokers" in answer.message


# ---------------------------------------------------------------- configuration

CHANGES = st.fixed_dictionaries({
    "min_insync_replicas": st.none() | st.integers(1, 3),
    "unclean_leader_election": st.none() | st.booleans(),
    "cleanup_policy": st.none() | st.sampled_from(CleanupPolicy),
    "retention_ms": st.none() | st.integers(-1, 5),
    "retention_bytes": st.none() | st.integers(-1, 5),
    "segment_bytes": st.none() | st.integers(14, 20),
    "delete_retention_ms": st.none() | st.integers(0, 5),
})  # fmt: skip


def settings_of(state: PartitionState) -> dict[str, Any]:
    values = {name: getattr(state.log_config, name) for name in CHANGEABLE if name in OF_LOG}
    return {**values, **{name: getattr(state, name) for name in CHANGEABLE if name not in OF_LOG}}


OF_LOG = {field.name for field in fields(LogConfig)}
NO_SETTINGS = {"topic", "deleted", "lists", "validate_only"}
CHANGEABLE = [field.name for field in fields(AlterConfigs) if field.name not in NO_SETTINGS]


@given(st.lists(CHANGES, max_size=4))
def test_only_settings_in_the_request_change_and_the_epochs_stay(
    changes: list[dict[str, Any]],
) -> None:
    other = create_topic(known(), CreateTopic(topic="other"))[0]
    before = {**orders(topic_partitions=2), **other}
    after: States = before
    expected = settings_of(before[FIRST])
    for change in changes:
        changed, answer = alter_configs(known(after), AlterConfigs(topic="orders", **change))
        assert answer == AlteredConfigs()
        after = {**after, **changed}
        expected |= {name: value for name, value in change.items() if value is not None}
    assert {place: after[place] for place in other} == other
    for place in (FIRST, SECOND):
        assert settings_of(after[place]) == expected
        unchanged = replace(
            after[place],
            min_insync_replicas=before[place].min_insync_replicas,
            unclean_leader_election=before[place].unclean_leader_election,
            log_config=before[place].log_config,
            configured=frozenset(),
        )
        assert unchanged == before[place]  # its epochs too


def test_setting_the_minimum_clears_the_elr_also_to_the_same_value() -> None:
    states = {FIRST: without_a_leader()}
    for minimum in (1, 2):
        request = AlterConfigs(topic="orders", min_insync_replicas=minimum)
        after = alter_configs(known(states), request)[0][FIRST]
        assert (after.leader, after.elr, after.last_known_leader) == (NO_BROKER, (), NO_BROKER)
        assert (after.leader_epoch, after.partition_epoch) == (3, 6)
    kept = alter_configs(known(states), AlterConfigs(topic="orders", retention_ms=1))[0][FIRST]
    assert (kept.elr, kept.partition_epoch) == ((2,), 5)


def test_allowing_unclean_election_starts_one() -> None:
    states = {FIRST: without_a_leader()}
    allow = AlterConfigs(topic="orders", unclean_leader_election=True)
    after = alter_configs(known(states, alive=(1, 3)), allow)[0][FIRST]
    assert (after.leader, after.isr, after.recovering) == (1, (1,), True)
    assert (after.leader_epoch, after.partition_epoch, after.elr) == (4, 6, ())
    nobody = alter_configs(known(states, alive=(3,)), allow)[0][FIRST]
    allowed: Any = {
        "unclean_leader_election": True,
        "configured": frozenset({"unclean_leader_election"}),
    }
    assert nobody == replace(states[FIRST], **allowed)
    led = alter_configs(known(orders()), allow)[0][FIRST]
    assert led == replace(orders()[FIRST], **allowed)


def test_a_setting_belongs_to_the_topic_until_it_is_deleted() -> None:
    """A topic keeps a configured setting until a request deletes the setting.

    A setting that a request has set to its default value also counts as configured. New partitions
    of the topic have the same configured settings.
    """
    retention = frozenset({"retention_ms"})
    states, default = orders(configured=retention), LogConfig().retention_ms
    changes: tuple[tuple[dict[str, Any], frozenset[str]], ...] = (
        ({"min_insync_replicas": 1}, retention | {"min_insync_replicas"}),
        ({"retention_ms": default}, retention),
        ({"retention_ms": default, "deleted": retention}, frozenset()),
    )
    for change, configured in changes:
        request = AlterConfigs(topic="orders", **change)
        assert alter_configs(known(states), request)[0][FIRST].configured == configured
    grown = create_partitions(known(states), CreatePartitions(topic="orders", topic_partitions=2))[
        0
    ]
    assert grown[SECOND].configured == {"retention_ms"}


def test_an_unknown_topic_cannot_be_configured() -> None:
    changed, answer = alter_configs(known(orders()), AlterConfigs(topic="nope", retention_ms=1))
    assert (changed, answer.error) == ({}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


# ---------------------------------------------------------------- brokers obey


def test_expired_records_are_deleted_and_without_a_limit_they_stay(
    start_cluster: StartCluster,
) -> None:
    talk = start_cluster(brokers=3)
    talk.create("orders", log_config=LogConfig(segment_bytes=200))
    for number in range(6):
        assert talk.write(FIRST, str(number)) is ErrorCode.NONE

    def log_starts() -> set[int]:
        brokers = [talk.nodes[NodeId(number)] for number in (1, 2, 3)]
        assert all(isinstance(broker, Broker) for broker in brokers)
        return {broker.replicas[FIRST].log.log_start for broker in brokers}

    talk.pass_time(3_000)
    assert log_starts() == {0}
    assert talk.call(AlterConfigs(topic="orders", retention_ms=1_000), 2) == AlteredConfigs()
    talk.pass_time(3_000)
    assert log_starts() == {6}
    assert talk.call(AlterConfigs(topic="orders", retention_ms=-1), 3) == AlteredConfigs()
    assert talk.write(FIRST, "6") is ErrorCode.NONE
    talk.pass_time(9_000)
    assert log_starts() == {6}


def changes_then_writes(app: Application, request: Any, to: TopicPartition) -> Program:
    """Sends the request again until a broker responds; then writes a value and reads it.

    A retry of CreatePartitions after a lost response may get INVALID_PARTITIONS.
    """
    brokers, answer = BrokerClient(app=app), None
    while answer is None:
        answer = yield Call(brokers.any_broker(), request)
        yield Pause(50)
    yield from Sender(app=app, brokers=brokers).send(to, "v")
    reader = Reader(app=app, brokers=brokers, topic_partition=to)
    yield from reader.read_to_end()


def test_a_lower_minimum_lets_producers_continue_while_brokers_are_down() -> None:
    cluster = Cluster(min_insync_replicas=3)
    producer = cluster.add_producer()
    cluster.crash(cluster.broker_ids[2])
    cluster.run_for(2_000)
    cluster.send(producer, "a")
    assert not cluster.run_until(lambda: cluster.producer(producer).idle, 1_000)
    request = AlterConfigs(topic=TOPIC_PARTITION.topic, min_insync_replicas=2)
    program = cluster.run_program(lambda app: changes_then_writes(app, request, TOPIC_PARTITION))
    assert cluster.run_until(
        lambda: cluster.producer(producer).idle and cluster.is_over(program), 5_000
    )
    assert sorted(value for _, value in cluster.read_all()) == ["a", "v"]


def test_an_added_partition_is_written_and_read_while_a_broker_is_down() -> None:
    cluster = Cluster()
    added = TopicPartition(TOPIC_PARTITION.topic, 1)
    request = CreatePartitions(topic=added.topic, topic_partitions=2)
    program = cluster.run_program(lambda app: changes_then_writes(app, request, added))
    cluster.run_until(lambda: added in cluster.topic_partitions(), 1_000)
    cluster.crash(cluster.leader(added))  # whoever leads it
    assert cluster.run_until(lambda: cluster.is_over(program), 10_000)
    cluster.recover()
    ends = {cluster.log(broker, added).end_offset for broker in cluster.broker_ids}
    assert ends == {1}
