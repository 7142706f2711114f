"""A new default changes the topics that do not have the setting themselves, and no others."""

from __future__ import annotations

from dataclasses import replace

from model.vocabulary import BrokerId, LeaderEpoch, PartitionEpoch, TopicPartition
from reference_impl.controller.cluster_state import ClusterState
from reference_impl.controller.topic_configs import alter_configs, alter_defaults
from reference_impl.controller.topics import create_topic
from reference_impl.protocol.controller import AlterConfigs, CreateTopic, PartitionState
from reference_impl.protocol.coordinators import CONSUMER_OFFSETS
from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.topic_config import INTERNAL_LOG_CONFIG, CleanupPolicy
from reference_impl.protocol.topic_defaults import AlterDefaults, TopicDefaults

ONE = BrokerId(1)
PLAIN, OWN = TopicPartition("plain", 0), TopicPartition("own", 0)
INTERNAL = TopicPartition(CONSUMER_OFFSETS, 0)
STATE = PartitionState(
    replicas=(ONE,),
    isr=(ONE,),
    leader=ONE,
    leader_epoch=LeaderEpoch(0),
    partition_epoch=PartitionEpoch(3),
)
OWN_STATE = replace(STATE, configured=frozenset({"min_insync_replicas"}), elr=(BrokerId(2),))
INTERNAL_STATE = replace(STATE, log_config=INTERNAL_LOG_CONFIG, min_insync_replicas=2)
CLUSTER = ClusterState(states={PLAIN: STATE, OWN: OWN_STATE, INTERNAL: INTERNAL_STATE}, alive=[ONE])


def altered(*names: str, validate_only: bool = False, **values: object) -> AlterDefaults:
    defaults = replace(TopicDefaults(), **values)  # type: ignore[arg-type]
    return AlterDefaults(
        defaults=defaults, names=frozenset({*names, *values}), validate_only=validate_only
    )


def test_a_topic_keeps_its_own_setting_and_an_internal_topic_keeps_its_own_too() -> None:
    request = altered(min_insync_replicas=3, cleanup_policy=CleanupPolicy.COMPACT, retention_ms=5)
    changes, _ = alter_defaults(CLUSTER, request)
    found = {
        place: (state.min_insync_replicas, state.log_config.retention_ms, state.configured)
        for place, state in changes.items()
        if state is not None
    }
    assert found == {
        PLAIN: (3, 5, frozenset()),
        OWN: (1, 5, OWN_STATE.configured),
        INTERNAL: (2, 5, frozenset()),
    }


def test_a_new_minimum_clears_every_elr_as_in_kafka() -> None:
    changes, _ = alter_defaults(CLUSTER, altered(min_insync_replicas=2))
    own = changes[OWN]
    assert own is not None
    assert (own.elr, own.partition_epoch) == ((), 4)
    assert INTERNAL not in changes


def test_a_removed_default_is_the_built_in_one_again() -> None:
    changed = replace(STATE, log_config=replace(STATE.log_config, retention_ms=5))
    cluster = replace(CLUSTER, states={PLAIN: changed})
    assert alter_defaults(cluster, altered("retention_ms"))[0] == {PLAIN: STATE}


def test_a_validated_request_changes_nothing() -> None:
    request = altered(retention_ms=5, validate_only=True)
    assert alter_defaults(CLUSTER, request)[0] == {}
    assert request.applied_to(TopicDefaults()) == TopicDefaults()


def test_a_change_that_contradicts_another_setting_of_the_topic_is_refused() -> None:
    request = AlterConfigs(topic="own", max_compaction_lag_ms=5)
    states, _ = alter_configs(CLUSTER, request)
    cluster = replace(CLUSTER, states={**CLUSTER.states, **states})
    states, answer = alter_configs(cluster, AlterConfigs(topic="own", min_compaction_lag_ms=6))
    assert (states, answer.error) == ({}, ErrorCode.INVALID_CONFIG)
    assert answer.message == (
        "conflict topic config setting min.compaction.lag.ms (6) > max.compaction.lag.ms (5)"
    )


def test_a_new_topic_and_a_setting_that_is_removed_take_the_default() -> None:
    cluster = replace(CLUSTER, defaults=TopicDefaults(retention_ms=5, min_insync_replicas=2))
    states, _ = create_topic(cluster, CreateTopic(topic="new", replication_factor=1))
    (created,) = states.values()
    assert (created.min_insync_replicas, created.log_config.retention_ms) == (2, 5)
    own = CreateTopic(topic="o", replication_factor=1, configured=frozenset({"retention_ms"}))
    (kept,) = create_topic(cluster, own)[0].values()
    assert kept.log_config.retention_ms == STATE.log_config.retention_ms
    removed = AlterConfigs(topic="own", retention_ms=9, deleted=frozenset({"retention_ms"}))
    after = alter_configs(cluster, removed)[0][OWN]
    assert after.log_config.retention_ms == 5
    assert isinstance(after.configured, frozenset)
