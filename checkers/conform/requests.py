"""Builds requests for one topic partition, and requests of transactions.

The body of a request has the fields of all versions of the request type. When the request is sent,
the fields that its version does not have are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from checkers.conform.steps import Body, Send, batches, bound, topic_id
from reference_impl.wire.messages.apis import Api

LATEST, EARLIEST = -1, -2
ALL: Final = -1
WAIT_MS: Final = 100
TIMEOUT_MS: Final = 8_000
A_LOT: Final = 1 << 20
READ_UNCOMMITTED, READ_COMMITTED = 0, 1


def of_topic(topic: str) -> dict[str, Any]:
    """Returns the name and the id of a topic, under every field name that some version of a request
    uses.
    """
    return {"topic": topic, "name": topic, "topic_id": topic_id(topic)}


def in_topic(topic: str, part: Body) -> list[dict[str, Any]]:
    return [{**of_topic(topic), "partitions": [part]}]


def commit_of(partition: int, offset: int, metadata: str | None = "m") -> dict[str, Any]:
    return {
        "partition_index": partition,
        "committed_offset": offset,
        "committed_leader_epoch": -1,
        "committed_metadata": metadata,
    }


def producer(name: str, *, epoch: int = 0, producer_id: int = 0) -> dict[str, Any]:
    """Returns placeholders for the producer id and the producer epoch that the producer `name`
    received in the answer to InitProducerId.

    The name `p before` stands for the values that the producer `p` had before it received its
    newest ones. The arguments `producer_id` and `epoch` are added to the values of the two
    placeholders, so that a test can send wrong values.
    """
    return {
        "producer_id": bound(*_names(name, "id"), plus=producer_id, otherwise=777),
        "producer_epoch": bound(*_names(name, "epoch"), plus=epoch, otherwise=0),
    }


def _names(producer_name: str, field: str) -> tuple[str, ...]:
    name, _, before = producer_name.partition(" ")
    return (f"{name}.{field} {before}", f"{name}.{field}") if before else (f"{name}.{field}",)


def produce(
    note: str,
    topic: str,
    *described: Body,
    version: int = 11,
    acks: int = ALL,
    partition: int = 0,
    transaction: str | None = None,
    to: str | None = None,
    retries: bool = True,
) -> Send:
    data = {"index": partition, "records": batches(*described)}
    return Send(
        api=Api.PRODUCE,
        version=version,
        body={
            "transactional_id": transaction,
            "acks": acks,
            "timeout": TIMEOUT_MS,
            "topic_data": [{**of_topic(topic), "partition_data": [data]}],
        },
        to=to or f"leader {topic} {partition}",
        note=note,
        retries=retries,
    )


def fetch(
    note: str,
    topic: str,
    offset: int,
    *,
    version: int = 12,
    isolation: int = READ_UNCOMMITTED,
    partition: int = 0,
    to: str | None = None,
    **fields: Any,
) -> Send:
    """Returns a Fetch request for one partition. `fields` has values for fields of the request,
    which replace the default values.
    """
    part = {
        "partition": partition,
        "current_leader_epoch": -1,
        "fetch_offset": offset,
        "partition_max_bytes": A_LOT,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
    }
    whole = {
        "replica_id": -1,
        "max_wait": WAIT_MS,
        "min_bytes": 1,
        "max_bytes": A_LOT,
        "isolation_level": isolation,
        "session_id": 0,
        "session_epoch": -1,
    }
    part |= {name: value for name, value in fields.items() if name in part}
    whole |= {name: value for name, value in fields.items() if name in whole}
    return Send(
        api=Api.FETCH,
        version=version,
        body={**whole, "topics": in_topic(topic, part)},
        to=to or f"leader {topic} {partition}",
        note=note,
    )


def list_offsets(
    note: str,
    topic: str,
    timestamp: Any,
    *,
    version: int = 8,
    isolation: int = READ_UNCOMMITTED,
    leader_epoch: int = -1,
    partition: int = 0,
    replica: int = -1,
    to: str | None = None,
) -> Send:
    part = {
        "partition_index": partition,
        "current_leader_epoch": leader_epoch,
        "timestamp": timestamp,
    }
    return Send(
        api=Api.LIST_OFFSETS,
        version=version,
        body={
            "replica_id": replica,
            "isolation_level": isolation,
            "timeout": TIMEOUT_MS,
            "topics": in_topic(topic, part),
        },
        to=to or f"leader {topic} {partition}",
        note=note,
    )


def epoch_end(
    note: str,
    topic: str,
    leader_epoch: int,
    *,
    version: int = 4,
    current: int = -1,
    partition: int = 0,
    to: str | None = None,
) -> Send:
    part = {
        "partition": partition,
        "current_leader_epoch": current,
        "leader_epoch": leader_epoch,
    }
    return Send(
        api=Api.OFFSET_FOR_LEADER_EPOCH,
        version=version,
        body={"replica_id": -1, "topics": in_topic(topic, part)},
        to=to or f"leader {topic} {partition}",
        note=note,
    )


def delete_records(
    note: str,
    topic: str,
    offset: int,
    *,
    version: int = 2,
    partition: int = 0,
    to: str | None = None,
) -> Send:
    part = {"partition_index": partition, "offset": offset}
    return Send(
        api=Api.DELETE_RECORDS,
        version=version,
        body={"topics": in_topic(topic, part), "timeout": TIMEOUT_MS},
        to=to or f"leader {topic} {partition}",
        note=note,
    )


# ------------------------------------------------------------ producers and transactions


def init(
    note: str,
    name: str,
    transaction: str | None = None,
    *,
    version: int = 4,
    timeout_ms: int = 60_000,
    own: Mapping[str, Any] | None = None,
    to: str | None = None,
    retries: bool = True,
) -> Send:
    """Returns an InitProducerId request of the producer `name`. Later requests can use the producer
    id and epoch in its answer.
    """
    return Send(
        api=Api.INIT_PRODUCER_ID,
        version=version,
        body={
            "transactional_id": transaction,
            "transaction_timeout": timeout_ms,
            # `own` is the id and the epoch that the client already has (KIP-360).
            **(own or {"producer_id": -1, "producer_epoch": -1}),
        },
        to=to or (f"transaction {transaction}" if transaction else "any"),
        note=note,
        # For the producer `p`, the names of these values are `p.id` and `p.epoch`.
        binds={f"{name}.id": "producer_id", f"{name}.epoch": "producer_epoch"},
        retries=retries,
    )


def add_partitions(
    note: str,
    transaction: str,
    topic: str,
    name: str,
    *,
    version: int = 3,
    partitions: tuple[int, ...] = (0,),
    epoch: int = 0,
    producer_id: int = 0,
    verify_only: bool = False,
    to: str | None = None,
    retries: bool = True,
) -> Send:
    identity = producer(name, epoch=epoch, producer_id=producer_id)
    topics = [{"name": topic, "partitions": list(partitions)}]
    one = {
        "transactional_id": transaction,
        **identity,
        "verify_only": verify_only,
        "topics": topics,
    }
    return Send(
        api=Api.ADD_PARTITIONS_TO_TXN,
        version=version,
        body={
            "transactions": [one],
            "v3_and_below_transactional_id": transaction,
            "v3_and_below_producer_id": identity["producer_id"],
            "v3_and_below_producer_epoch": identity["producer_epoch"],
            "v3_and_below_topics": topics,
        },
        to=to or f"transaction {transaction}",
        note=note,
        retries=retries,
    )


def add_offsets(
    note: str,
    transaction: str,
    group: str,
    name: str,
    *,
    version: int = 3,
    epoch: int = 0,
    producer_id: int = 0,
    retries: bool = True,
) -> Send:
    return Send(
        api=Api.ADD_OFFSETS_TO_TXN,
        version=version,
        body={
            "transactional_id": transaction,
            **producer(name, epoch=epoch, producer_id=producer_id),
            "group_id": group,
        },
        to=f"transaction {transaction}",
        note=note,
        retries=retries,
    )


def txn_commit_offsets(
    note: str,
    transaction: str,
    group: str,
    topic: str,
    name: str,
    offset: int,
    *,
    version: int = 3,
    partition: int = 0,
    epoch: int = 0,
    generation: Any = -1,
    member: Any = "",
    retries: bool = True,
) -> Send:
    return Send(
        api=Api.TXN_OFFSET_COMMIT,
        version=version,
        body={
            "transactional_id": transaction,
            "group_id": group,
            **producer(name, epoch=epoch),
            "generation_id": generation,
            "member_id": member,
            "group_instance_id": None,
            "topics": in_topic(topic, commit_of(partition, offset)),
        },
        to=f"group {group}",
        note=note,
        retries=retries,
    )


def end(
    note: str,
    transaction: str,
    name: str,
    *,
    commit: bool,
    version: int = 4,
    epoch: int = 0,
    producer_id: int = 0,
    binds: str | None = None,
    to: str | None = None,
    retries: bool = True,
) -> Send:
    """Returns an EndTxn request of the producer `name`.

    If `binds` is not None, later requests can use the producer id and epoch in the answer, under
    the name `binds`.
    """
    # From version 5 on, these are for the producer's next transaction.
    names = {f"{binds}.id": "producer_id", f"{binds}.epoch": "producer_epoch"}
    return Send(
        api=Api.END_TXN,
        version=version,
        body={
            "transactional_id": transaction,
            **producer(name, epoch=epoch, producer_id=producer_id),
            "committed": commit,
        },
        to=to or f"transaction {transaction}",
        note=note,
        binds=names if binds is not None else {},
        retries=retries,
    )
