"""Handles ApiVersions, Metadata, InitProducerId and FindCoordinator requests.

Source: KIP-35 and KIP-511 (ApiVersions), KIP-516, KIP-699.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from model.vocabulary import NO_PRODUCER_ID, ProducerEpoch, ProducerId, TopicPartition
from reference_impl.protocol.controller import CreateTopic, PartitionState
from reference_impl.protocol.coordinators import INTERNAL_TOPICS
from reference_impl.protocol.messages import (
    NO_BROKER,
    NO_PRODUCER_EPOCH,
    ErrorCode,
    InitializedProducerId,
    InitProducerId,
)
from reference_impl.protocol.topic_names import invalid_name
from reference_impl.protocol.transactions import FindCoordinator, FoundCoordinator
from reference_impl.wire.messages.adapter import Call, milliseconds
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.versions import VERSIONS
from reference_impl.wire.requests.broker.authorized_operations import (
    NO_OPERATIONS,
    cluster_operations,
    topic_operations,
)
from reference_impl.wire.requests.broker.served_broker import (
    UNKNOWN_TOPIC_ID,
    ServedBroker,
    image,
    request_core,
)
from reference_impl.wire.requests.broker.topic_ids import TopicIds, ids_of
from reference_impl.wire.requests.coordinators.transactions import known_error

CLUSTER_ID: Final = "urteil-reference-broker"
DEFAULT_REPLICATION_FACTOR: Final = 3  # of topics whose client leaves it to the broker
FEATURES_SINCE: Final = 3  # the version of ApiVersions
TOPIC_IDS_SINCE: Final = 12  # Metadata: the version that may name a topic by its id
INIT_FENCED_SINCE: Final = 4  # InitProducerId: PRODUCER_FENCED (KIP-360)
GROUP, TRANSACTION = 0, 1  # key types of FindCoordinator
# The names and versions of client software that a broker accepts (KIP-511).
SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
# KIP-848: groups of the new protocol. KIP-890: clients may speak the second protocol.
FEATURES: Final = {"group.version": 1, "transaction.version": 2}


# ---------------------------------------------------------------- ApiVersions


async def api_versions(_broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to ApiVersions. The error is INVALID_REQUEST if the client's name or
    version does not have the form that KIP-511 requires.
    """
    if not has_valid_names(call):
        return call.respond(error_code=ErrorCode.INVALID_REQUEST, api_keys=())
    return call.respond(
        error_code=0,
        api_keys=_advertised(call, VERSIONS),
        finalized_features_epoch=0,
        supported_features=tuple(
            call.make("SupportedFeatureKey", name=name, min_version=0, max_version=level)
            for name, level in FEATURES.items()
            if call.version >= FEATURES_SINCE
        ),
        finalized_features=tuple(
            call.make(
                "FinalizedFeatureKey", name=name, min_version_level=level, max_version_level=level
            )
            for name, level in FEATURES.items()
            if call.version >= FEATURES_SINCE
        ),
    )


def has_valid_names(call: Call) -> bool:
    """Returns True if the client's name and version are absent or have the form that KIP-511
    requires.

    Kafka: ApiVersionsRequest.isValid.
    """
    names = ("client_software_name", "client_software_version")
    return all(SOFTWARE.fullmatch(getattr(call.body, name, "unnamed")) for name in names)


def unsupported_api_versions(correlation_id: int) -> bytes:
    """Returns the response of version 0 to an ApiVersions request of an unknown version."""
    call = Call(Api.API_VERSIONS, 0, correlation_id, None, None)
    error = ErrorCode.UNSUPPORTED_VERSION
    return call.respond(error_code=error, api_keys=_advertised(call, [Api.API_VERSIONS]))


def _advertised(call: Call, apis: Any) -> tuple[Any, ...]:
    return tuple(
        call.make(
            "ApiVersion",
            api_key=api,
            min_version=VERSIONS[api].first,
            max_version=VERSIONS[api].last,
        )
        for api in apis
    )


# ---------------------------------------------------------------- Metadata


async def metadata(broker: ServedBroker, call: Call) -> bytes:
    if call.version < TOPIC_IDS_SINCE and any(
        topic.name is None or getattr(topic, "topic_id", None) for topic in call.body.topics or ()
    ):
        return _invalid_metadata(call)
    seen = await image(broker)
    topics: dict[str, list[tuple[TopicPartition, PartitionState]]] = {}
    for topic_partition, state in seen.topic_partitions:
        topics.setdefault(topic_partition.topic, []).append((topic_partition, state))
    ids = ids_of(seen)
    live = [state.broker_id for state in seen.brokers if not state.fenced]
    brokers = tuple(
        call.make(
            "MetadataResponseBroker", node_id=id_, host=broker.addresses[id_][0],
            port=broker.addresses[id_][1], rack=None,
        )
        for id_ in live
    )  # fmt: skip
    wanted = call.body.topics
    if wanted is None or (call.version == 0 and not wanted):
        named = list(topics)
    else:
        # Kafka's MetadataRequest.topics is a set: a topic is described once.
        named = [*dict.fromkeys(_name(topic, ids) for topic in wanted)]
        if broker.auto_creates_topics and getattr(call.body, "allow_auto_topic_creation", True):
            await _create(broker, [name for name in named if name not in topics])
    answers = [
        _topic(call, name, ids.by_name[name], topics[name], live)
        if name in topics
        else _no_topic(call, name)
        for name in named
    ]
    return call.respond(
        error_code=0,
        brokers=brokers,
        cluster_id=CLUSTER_ID,
        controller_id=broker.broker_id,  # in KRaft: any broker, which forwards requests
        topics=tuple(answers),
        cluster_authorized_operations=cluster_operations(call.body),
    )


def _invalid_metadata(call: Call) -> bytes:
    # Kafka: KafkaApis.handleTopicMetadataRequest, MetadataRequest.getErrorResponse.
    error = ErrorCode.INVALID_REQUEST
    topics = tuple(
        call.make(
            "MetadataResponseTopic",
            error_code=error,
            name=topic.name or "",
            topic_id=getattr(topic, "topic_id", None),
            is_internal=False,
            partitions=(),
        )
        for topic in call.body.topics
    )
    return call.respond(
        error_code=error, brokers=(), cluster_id=None, controller_id=-1, topics=topics
    )


async def _create(broker: ServedBroker, names: Sequence[Any]) -> None:
    # The response still has the error of an unknown topic. Kafka: AutoTopicCreationManager.
    replicas = min(DEFAULT_REPLICATION_FACTOR, len(broker.addresses))
    for name in names:
        if isinstance(name, str) and not invalid_name(name):
            request = CreateTopic(
                topic=name,
                topic_partitions=broker.default_partitions,
                replication_factor=replicas,
            )
            await broker.call(request)


def _name(topic: Any, ids: TopicIds) -> Any:
    if topic.name is not None:
        return topic.name
    return ids.name_of(topic.topic_id) or topic.topic_id


def _topic(
    call: Call,
    name: str,
    identity: UUID,
    states: list[tuple[TopicPartition, PartitionState]],
    live: Sequence[int],
) -> Any:
    partitions = tuple(
        call.make(
            "MetadataResponsePartition",
            error_code=ErrorCode.LEADER_NOT_AVAILABLE if state.leader == NO_BROKER else 0,
            partition_index=topic_partition.index,
            leader_id=state.leader,
            leader_epoch=state.leader_epoch,
            replica_nodes=state.replicas,
            isr_nodes=state.isr,
            offline_replicas=tuple(id_ for id_ in state.replicas if id_ not in live),
        )
        for topic_partition, state in states
    )
    return call.make(
        "MetadataResponseTopic", error_code=0, name=name, topic_id=identity,
        is_internal=name in INTERNAL_TOPICS, partitions=partitions,
        topic_authorized_operations=topic_operations(call.body),
    )  # fmt: skip


def _no_topic(call: Call, name: Any) -> Any:
    known_by_name = isinstance(name, str)
    error = UNKNOWN_TOPIC_ID
    if known_by_name and invalid_name(name):
        error = ErrorCode.INVALID_TOPIC_EXCEPTION
    elif known_by_name:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return call.make(
        "MetadataResponseTopic",
        error_code=error,
        name=name if known_by_name else None,
        topic_id=None if known_by_name else name,
        partitions=(),
        topic_authorized_operations=topic_operations(call.body) if known_by_name else NO_OPERATIONS,
    )


# ---------------------------------------------------------------- producers and coordinators


async def init_producer_id(broker: ServedBroker, call: Call) -> bytes:
    body = call.body
    request = InitProducerId(
        transactional_id=body.transactional_id,
        timeout_ms=milliseconds(body.transaction_timeout),
        producer_id=ProducerId(getattr(body, "producer_id", NO_PRODUCER_ID)),
        producer_epoch=ProducerEpoch(getattr(body, "producer_epoch", -1)),
    )
    # A producer id must come with an epoch, and the reverse.
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        answer = InitializedProducerId(error=ErrorCode.INVALID_REQUEST)
    else:
        answer = await request_core(broker, request, InitializedProducerId)
    return call.respond(
        error_code=known_error(answer.error, call.version, INIT_FENCED_SINCE),
        producer_id=answer.producer_id,
        producer_epoch=answer.producer_epoch,
    )


async def find_coordinator(broker: ServedBroker, call: Call) -> bytes:
    kind = getattr(call.body, "key_type", GROUP)
    keys = getattr(call.body, "coordinator_keys", None)
    if keys is None:
        return call.respond(**await _coordinator(broker, kind, call.body.key))
    found = [(key, await _coordinator(broker, kind, key)) for key in keys]
    return call.respond(
        coordinators=tuple(call.make("Coordinator", key=key, **fields) for key, fields in found)
    )


async def _coordinator(broker: ServedBroker, kind: int, key: str) -> dict[str, Any]:
    error, at = ErrorCode.INVALID_REQUEST, NO_BROKER
    if kind in {GROUP, TRANSACTION}:
        request = FindCoordinator(key=key, is_transactional=kind == TRANSACTION)
        answer = await request_core(broker, request, FoundCoordinator)
        error, at = answer.error, answer.broker_id
    host, port = broker.addresses.get(at, ("", -1))
    return {
        "error_code": error,
        "error_message": error.name if error else "",
        "node_id": at,
        "host": host,
        "port": port,
    }
