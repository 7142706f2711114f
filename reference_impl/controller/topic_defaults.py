"""The request of the controller that changes the defaults of all topics.

    AlterDefaults   a topic that does not have the setting itself gets the new default

As in Kafka, a new default of min.insync.replicas clears every ELR. Internal topics have their own
cleanup.policy, segment.bytes and min.insync.replicas.

Source: KIP-226, KIP-966; ConfigurationControlManager.createClearElrRecordsAsNeeded of Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final

from reference_impl.controller.topics import Changes, ClusterState, reconfigured
from reference_impl.protocol.coordinators import INTERNAL_TOPICS
from reference_impl.protocol.topic_config import DEFAULT_LOG_CONFIG
from reference_impl.protocol.topic_defaults import AlterDefaults, AlteredDefaults, TopicDefaults

_OF_INTERNAL: Final = frozenset({"cleanup_policy", "segment_bytes", "min_insync_replicas"})
_BUILT_IN: Final[Mapping[str, Any]] = {
    field.name: getattr(DEFAULT_LOG_CONFIG, field.name, False) for field in fields(TopicDefaults)
}


def alter_defaults(
    cluster: ClusterState, request: AlterDefaults
) -> tuple[Changes, AlteredDefaults]:
    """Returns the partition registrations with the new defaults, and the response."""
    if request.validate_only:
        return {}, AlteredDefaults()
    after: dict[str, Any] = {}
    for name in request.names:
        value = getattr(request.defaults, name)
        after[name] = _BUILT_IN[name] if value is None else value
    changes: dict[Any, Any] = {}
    for place, state in cluster.states.items():
        own = state.configured | (_OF_INTERNAL if place.topic in INTERNAL_TOPICS else frozenset())
        settings = {name: value for name, value in after.items() if name not in own}
        clears_elr = "min_insync_replicas" in after
        changed = reconfigured(cluster, place, settings, clears_elr=clears_elr)
        if changed != state:
            changes[place] = changed
    return changes, AlteredDefaults()


HANDLERS: Final[Mapping[type, Callable[[ClusterState, Any], tuple[Changes, Any]]]] = {
    AlterDefaults: alter_defaults,
}
