"""Requests to a coordinator whose log is being loaded, in each version, as in Apache Kafka 4.3.

`ROWS` has each served request that a coordinator of groups or transactions handles. In the cluster
of this module a load takes an hour, so every coordinator is loading during the tests.

Source: GroupCoordinatorService, TransactionCoordinator, TransactionStateManager, KafkaApis.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final

import pytest

from reference_impl.protocol.coordinators import CONSUMER_OFFSETS, java_hash
from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.versions import VERSIONS
from reference_impl.wire.nodes.host import SERVED
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import Served, serving
from tests.reference_impl.wire.single_requests import named

Connection = Any  # of conftest
Fields = dict[str, Any]
GROUP, TRANSACTION = 0, 1
HOUR_MS = 3_600_000
KEY = "k"  # the group id and the transactional id
LOADING, ELSEWHERE = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR
UNAVAILABLE, NONE = ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NONE
NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER

MEMBER: Final[Fields] = {"group_id": KEY, "member_id": "m", "generation_id": 1}
PRODUCER: Final[Fields] = {"transactional_id": KEY, "producer_id": 7, "producer_epoch": 0}
ADDED: Final[Fields] = {**PRODUCER, "topics": [{"name": "in", "partitions": [0]}]}
OFFSET: Final[Fields] = {"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}
MARKED: Final[Fields] = {
    "name": CONSUMER_OFFSETS,
    "partition_indexes": [java_hash(KEY) % 3],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A request, and the error in its response while the coordinator's log is loaded.

    `older` is the error in versions below `since`. `elsewhere` is the error of a broker that is not
    the coordinator, or None if the request has no key.
    """

    of: int
    values: Callable[[int], Fields]  # by version
    error: ErrorCode = LOADING
    since: int = 0
    older: ErrorCode = NONE
    elsewhere: ErrorCode | None = ELSEWHERE


def always(**values: Any) -> Callable[[int], Fields]:
    return lambda _version: values


def fetched(version: int) -> Fields:
    topics = [{**named(version, 10, "in"), "partition_indexes": [0]}]
    group = {"group_id": KEY, "topics": topics}
    return {"groups": [{**group, "member_epoch": -1}]} if version >= 8 else group


def added(version: int) -> Fields:
    if version >= 4:
        return {"transactions": [{**ADDED, "verify_only": False}]}
    return {f"v3_and_below_{name}": value for name, value in ADDED.items()}


ROWS: Final = {
    Api.FIND_COORDINATOR: Row(
        of=GROUP, values=always(key=KEY, coordinator_keys=[KEY]), error=NONE, elsewhere=NONE
    ),
    Api.JOIN_GROUP: Row(
        of=GROUP,
        values=always(
            group_id=KEY,
            session_timeout=10_000,
            protocol_type="consumer",
            protocols=[{"name": "range", "metadata": b""}],
        ),
    ),
    Api.SYNC_GROUP: Row(
        of=GROUP, values=always(**MEMBER, protocol_type="consumer", protocol_name="range")
    ),
    # The member stays in its group. Kafka: GroupCoordinatorService.heartbeat.
    Api.HEARTBEAT: Row(of=GROUP, values=always(**MEMBER), error=NONE),
    Api.LEAVE_GROUP: Row(of=GROUP, values=always(**MEMBER, members=[{"member_id": "m"}])),
    Api.OFFSET_COMMIT: Row(
        of=GROUP,
        values=lambda version: {
            **MEMBER,
            "generation_id_or_member_epoch": 1,
            "topics": [{**named(version, 10, "in"), "partitions": [OFFSET]}],
        },
    ),
    Api.OFFSET_FETCH: Row(of=GROUP, values=fetched),
    # Clients before version 2 may crash by the error (KAFKA-7296).
    # Kafka: KafkaApis.handleTxnOffsetCommitRequest.
    Api.TXN_OFFSET_COMMIT: Row(
        of=GROUP,
        values=always(
            **PRODUCER,
            group_id=KEY,
            generation_id=-1,
            topics=[{"name": "in", "partitions": [OFFSET]}],
        ),
        since=2,
        older=UNAVAILABLE,
    ),
    Api.DESCRIBE_GROUPS: Row(of=GROUP, values=always(groups=[KEY])),
    Api.LIST_GROUPS: Row(of=GROUP, values=always(), elsewhere=None),
    Api.DELETE_GROUPS: Row(of=GROUP, values=always(groups_names=[KEY])),
    Api.OFFSET_DELETE: Row(
        of=GROUP,
        values=always(
            group_id=KEY, topics=[{"name": "in", "partitions": [{"partition_index": 0}]}]
        ),
    ),
    Api.CONSUMER_GROUP_HEARTBEAT: Row(
        of=GROUP,
        values=always(
            group_id=KEY,
            member_id="m",
            member_epoch=0,
            rebalance_timeout=10_000,
            subscribed_topic_names=["in"],
            topic_partitions=[],
        ),
    ),
    Api.CONSUMER_GROUP_DESCRIBE: Row(of=GROUP, values=always(group_ids=[KEY])),
    # The transaction coordinator sends the marker again.
    # Kafka: KafkaApis.handleWriteTxnMarkersRequest.
    Api.WRITE_TXN_MARKERS: Row(
        of=GROUP,
        values=always(
            markers=[
                {"producer_id": 7, "producer_epoch": 0, "coordinator_epoch": 1, "topics": [MARKED]}
            ]
        ),
        error=NOT_LEADER,
        elsewhere=NOT_LEADER,
    ),
    Api.INIT_PRODUCER_ID: Row(
        of=TRANSACTION,
        values=always(
            transactional_id=KEY, transaction_timeout=60_000, producer_id=-1, producer_epoch=-1
        ),
    ),
    Api.ADD_PARTITIONS_TO_TXN: Row(of=TRANSACTION, values=added),
    Api.ADD_OFFSETS_TO_TXN: Row(of=TRANSACTION, values=always(**PRODUCER, group_id=KEY)),
    Api.END_TXN: Row(of=TRANSACTION, values=always(**PRODUCER, committed=True)),
    Api.DESCRIBE_TRANSACTIONS: Row(of=TRANSACTION, values=always(transactional_ids=[KEY])),
    Api.LIST_TRANSACTIONS: Row(of=TRANSACTION, values=always(), elsewhere=None),
}

# Requests that no coordinator of groups or transactions handles. Share groups and streams groups
# are off.
OTHERS: Final = frozenset({
    Api.PRODUCE,
    Api.FETCH,
    Api.LIST_OFFSETS,
    Api.METADATA,
    Api.SASL_HANDSHAKE,
    Api.API_VERSIONS,
    Api.CREATE_TOPICS,
    Api.DELETE_TOPICS,
    Api.DELETE_RECORDS,
    Api.OFFSET_FOR_LEADER_EPOCH,
    Api.DESCRIBE_ACLS,
    Api.CREATE_ACLS,
    Api.DELETE_ACLS,
    Api.DESCRIBE_CONFIGS,
    Api.ALTER_CONFIGS,
    Api.ALTER_REPLICA_LOG_DIRS,
    Api.DESCRIBE_LOG_DIRS,
    Api.SASL_AUTHENTICATE,
    Api.CREATE_PARTITIONS,
    Api.CREATE_DELEGATION_TOKEN,
    Api.RENEW_DELEGATION_TOKEN,
    Api.EXPIRE_DELEGATION_TOKEN,
    Api.DESCRIBE_DELEGATION_TOKEN,
    Api.ELECT_LEADERS,
    Api.INCREMENTAL_ALTER_CONFIGS,
    Api.ALTER_PARTITION_REASSIGNMENTS,
    Api.LIST_PARTITION_REASSIGNMENTS,
    Api.DESCRIBE_CLIENT_QUOTAS,
    Api.ALTER_CLIENT_QUOTAS,
    Api.DESCRIBE_USER_SCRAM_CREDENTIALS,
    Api.ALTER_USER_SCRAM_CREDENTIALS,
    Api.DESCRIBE_QUORUM,
    Api.DESCRIBE_CLUSTER,
    Api.DESCRIBE_PRODUCERS,
    Api.LIST_CONFIG_RESOURCES,
    Api.DESCRIBE_TOPIC_PARTITIONS,
    Api.SHARE_GROUP_HEARTBEAT,
    Api.SHARE_GROUP_DESCRIBE,
    Api.SHARE_FETCH,
    Api.SHARE_ACKNOWLEDGE,
    Api.INITIALIZE_SHARE_GROUP_STATE,
    Api.READ_SHARE_GROUP_STATE,
    Api.WRITE_SHARE_GROUP_STATE,
    Api.DELETE_SHARE_GROUP_STATE,
    Api.READ_SHARE_GROUP_STATE_SUMMARY,
    Api.STREAMS_GROUP_HEARTBEAT,
    Api.STREAMS_GROUP_DESCRIBE,
    Api.DESCRIBE_SHARE_GROUP_OFFSETS,
    Api.ALTER_SHARE_GROUP_OFFSETS,
    Api.DELETE_SHARE_GROUP_OFFSETS,
})  # fmt: skip


@pytest.fixture(scope="module")
def cluster() -> Iterator[Served]:
    """Serves two brokers, whose coordinators need an hour to load their logs."""
    settings = replace(SERVED, coordinator_load_ms=HOUR_MS)
    with serving(ServeOptions(brokers=2, broker_settings=settings)) as served:
        yield served


@pytest.fixture
def brokers(cluster: Served, connect: Callable[..., Connection]) -> dict[int, list[Connection]]:
    """Connects to two brokers for each kind of key (a group, or a transactional id): to the
    coordinator of `KEY`, and to the other broker.

    Both brokers know the topic `in` and the internal topics.
    """
    both = [connect(cluster.bootstrap_servers, at) for at in (0, 1)]
    new = {"name": "in", "num_partitions": 1, "replication_factor": 2}
    both[0].call(Api.CREATE_TOPICS, 7, topics=[new], timeout=5_000)
    found: dict[int, list[Connection]] = {}
    for kind in (GROUP, TRANSACTION):
        for connection in both:
            while True:
                answer = connection.call(Api.FIND_COORDINATOR, 3, key=KEY, key_type=kind)
                if answer.error_code == NONE:
                    break
                time.sleep(0.02)
        found[kind] = both if answer.node_id == 1 else both[::-1]
    return found


def errors(answer: Any) -> set[int]:
    """Returns the errors that are anywhere in a response."""
    if isinstance(answer, tuple):
        return {error for one in answer for error in errors(one)}
    if not is_dataclass(answer):
        return set()
    values = [(field.name, getattr(answer, field.name)) for field in fields(answer)]
    mine = {int(value) for name, value in values if name.endswith("error_code") and value}
    return mine.union(*(errors(value) for _, value in values))


def test_each_served_request_has_a_row_or_no_coordinator() -> None:
    assert VERSIONS.keys() == ROWS.keys() | OTHERS
    assert not ROWS.keys() & OTHERS


@pytest.mark.parametrize("api", ROWS, ids=lambda api: api.name)
def test_a_request_while_the_log_is_loaded_gets_the_error_of_its_version(
    api: Api, brokers: dict[int, list[Connection]]
) -> None:
    row = ROWS[api]
    coordinator, other = brokers[row.of]
    for version in range(VERSIONS[api].first_answered, VERSIONS[api].last + 1):
        error = row.error if version >= row.since else row.older
        answer = coordinator.call(api, version, **row.values(version))
        assert errors(answer) == {error} - {NONE}, f"version {version}: {answer}"
        if row.elsewhere is not None:
            answer = other.call(api, version, **row.values(version))
            assert errors(answer) == {row.elsewhere} - {NONE}, f"version {version}: {answer}"
