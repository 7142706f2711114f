"""Handles the requests to the controller that change the configuration of topics. Each request has
the following effect:

    AlterConfigs    changes some settings in each partition registration of one topic
    AlterDefaults   a topic that does not have the setting itself gets the new default

A request that sets `min.insync.replicas` clears the ELR, which was computed for the old minimum. If
a change allows unclean elections, a leader is elected for each partition that has no leader. A new
default does not change three settings of an internal topic: cleanup.policy, segment.bytes and
min.insync.replicas.

Source: KIP-226, KIP-339, KIP-966, KAFKA-16540; docs/kafka-rules.md B4, B10;
ConfigurationControlManager.createClearElrRecordsAsNeeded of Apache Kafka.
Simplified: a new configuration takes effect for all topic partitions at once, as part of the
metadata image. An unclean election is held at once, too. Kafka holds it within
unclean.leader.election.interval.ms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from model.vocabulary import PartitionEpoch, TopicPartition
from reference_impl.controller import elections
from reference_impl.controller.cluster_state import (
    Changes,
    ClusterState,
    States,
    first_reason,
    unknown_topic,
)
from reference_impl.protocol.controller import AlterConfigs, AlteredConfigs, PartitionState
from reference_impl.protocol.coordinators import INTERNAL_TOPICS
from reference_impl.protocol.messages import NO_BROKER, ErrorCode
from reference_impl.protocol.topic_defaults import AlterDefaults, AlteredDefaults, TopicDefaults
from reference_impl.protocol.topic_settings import BUILT_IN, parted, value_of

_OF_INTERNAL: Final = frozenset({"cleanup_policy", "segment_bytes", "min_insync_replicas"})


def alter_configs(cluster: ClusterState, request: AlterConfigs) -> tuple[States, AlteredConfigs]:
    known = cluster.of_topic(request.topic)
    refused = first_reason(unknown_topic(request.topic, known))
    if refused is not None:
        return {}, AlteredConfigs(error=refused[0], message=refused[1])
    settings = dict(request.set_values())
    for change in request.lists:
        try:
            settings[change.setting] = change.applied_to(_present(known, change.setting))
        except ValueError:
            why = f"Invalid value {','.join(change.words)}: String must be one of: compact, delete"
            return {}, AlteredConfigs(error=ErrorCode.INVALID_CONFIG, message=why)
    settings |= {name: cluster.defaults.value(name) for name in request.deleted}
    after = {
        place: reconfigured(
            cluster,
            place,
            settings,
            frozenset((state.configured | settings.keys()) - request.deleted),
            clears_elr="min_insync_replicas" in settings,
        )
        for place, state in known.items()
        if settings
    }
    for state in after.values():
        if state.log_config.conflict:
            error = ErrorCode.INVALID_CONFIG
            return {}, AlteredConfigs(error=error, message=state.log_config.conflict)
    return {} if request.validate_only else after, AlteredConfigs()


def _present(states: States, name: str) -> Any:
    # A topic without the setting begins with Kafka's default, not with its brokers' default.
    state = next(iter(states.values()))
    return value_of(state, name) if name in state.configured else BUILT_IN[name]


def alter_defaults(
    cluster: ClusterState, request: AlterDefaults
) -> tuple[Changes, AlteredDefaults]:
    """Returns two results: the changed partition registrations, and the response. A registration
    changes if its topic gets a new default. If the request has `validate_only`, no registration
    changes.
    """
    if request.validate_only:
        return {}, AlteredDefaults()
    defaults = request.applied_to(cluster.defaults)
    return with_defaults(cluster, defaults, request.names), AlteredDefaults()


def with_defaults(cluster: ClusterState, defaults: TopicDefaults, names: Iterable[str]) -> Changes:
    after = {name: defaults.value(name) for name in names}
    changes: dict[Any, Any] = {}
    for place, state in cluster.states.items():
        own = state.configured | (_OF_INTERNAL if place.topic in INTERNAL_TOPICS else frozenset())
        settings = {name: value for name, value in after.items() if name not in own}
        clears_elr = "min_insync_replicas" in after
        changed = reconfigured(cluster, place, settings, clears_elr=clears_elr)
        if changed != state:
            changes[place] = changed
    return changes


def reconfigured(
    cluster: ClusterState,
    place: TopicPartition,
    settings: Mapping[str, Any],
    configured: frozenset[str] | None = None,
    *,
    clears_elr: bool,
) -> PartitionState:
    """Returns the partition's registration with the new values of `settings`. If `settings` allow
    unclean elections and the partition has no leader, a leader is elected.

    `configured` is the new set of the settings that the topic sets itself. If `configured` is None,
    the set does not change. If `clears_elr` is True, the ELR and the last known leader are cleared.
    """
    state = cluster.states[place]
    of_topic, of_log = parted(settings)
    after = replace(
        state,
        log_config=replace(state.log_config, **of_log),
        configured=state.configured if configured is None else configured,
        **of_topic,
    )
    has_elr = state.elr or state.last_known_leader != NO_BROKER
    if clears_elr and has_elr:
        next_epoch = PartitionEpoch(state.partition_epoch + 1)
        after = replace(after, elr=(), last_known_leader=NO_BROKER, partition_epoch=next_epoch)
    if after.leader != NO_BROKER or not settings.get("unclean_leader_election"):
        return after
    decided = elections.partition_change(
        after,
        after.isr,
        cluster.alive.__contains__,
        elr=cluster.elr,
        min_isr=elections.effective_min_isr({**cluster.states, place: after}, place),
        bugs=cluster.bugs,
    )
    return after if decided.leader == NO_BROKER else decided


HANDLERS: Final[Mapping[type, Callable[[ClusterState, Any], tuple[Changes, Any]]]] = {
    AlterConfigs: alter_configs,
    AlterDefaults: alter_defaults,
}
