"""The dataclasses of topic settings have the same settings as the table of Kafka's config names."""

from __future__ import annotations

from dataclasses import fields
from typing import get_type_hints

from reference_impl.node.settings import BrokerSettings
from reference_impl.protocol.controller import AlterConfigs, CreateTopic, PartitionState
from reference_impl.protocol.topic_config import CleanupPolicy, LogConfig
from reference_impl.protocol.topic_defaults import NO_DEFAULTS, TopicDefaults
from reference_impl.protocol.topic_settings import (
    BUILT_IN,
    SETTINGS,
    TopicSettings,
    is_of_log,
    parted,
    value_of,
)
from reference_impl.wire.requests.configs.broker_configs import DYNAMIC, NUMBERS, STATIC_CONFIGS
from reference_impl.wire.requests.configs.topic_configs import CONFIGS


def test_each_setting_has_one_row_one_field_and_one_default() -> None:
    assert sorted(config.field for config in CONFIGS.values()) == sorted(SETTINGS)
    assert tuple(BUILT_IN) == SETTINGS
    of_log = {field.name for field in fields(LogConfig)}
    assert of_log == {name for name in SETTINGS if is_of_log(name)}


def test_a_setting_has_the_type_of_the_value_that_it_sets() -> None:
    hints = get_type_hints(TopicSettings)
    values = {**get_type_hints(PartitionState), **get_type_hints(LogConfig)}
    assert hints == {name: values[name] | None for name in SETTINGS}


def test_a_new_topic_and_a_registration_have_the_built_in_defaults() -> None:
    defaults = {field.name: field.default for field in fields(PartitionState)}
    for name, value in BUILT_IN.items():
        assert value_of(CreateTopic(topic="t"), name) == value
        assert is_of_log(name) or defaults[name] == value


def test_each_row_names_the_default_of_the_brokers() -> None:
    assert [*DYNAMIC] == [config.of_brokers for config in CONFIGS.values()]
    assert not DYNAMIC.keys() & STATIC_CONFIGS.keys()


def test_each_time_that_a_broker_can_start_with_is_described() -> None:
    assert NUMBERS.keys() <= STATIC_CONFIGS.keys()
    times = [field for field, _ in NUMBERS.values()]
    assert set(times) <= {field.name for field in fields(BrokerSettings)}
    assert len(times) == len(set(times))


def test_only_settings_that_are_present_are_set() -> None:
    request = AlterConfigs(topic="t", retention_ms=0, unclean_leader_election=False)
    assert dict(request.set_values()) == {"retention_ms": 0, "unclean_leader_election": False}
    assert dict(TopicSettings().set_values()) == {}
    assert dict(NO_DEFAULTS.set_values()) == {"min_insync_replicas": 1}
    assert isinstance(NO_DEFAULTS, TopicDefaults)


def test_settings_are_parted_into_those_of_the_topic_and_of_its_log() -> None:
    assert parted({"min_insync_replicas": 2, "cleanup_policy": CleanupPolicy.COMPACT}) == (
        {"min_insync_replicas": 2},
        {"cleanup_policy": CleanupPolicy.COMPACT},
    )
    assert parted({}) == ({}, {})
