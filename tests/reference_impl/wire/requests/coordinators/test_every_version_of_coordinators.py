"""Requests for transactions and groups work in each advertised version; the client uses kio."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from reference_impl.wire.messages.apis import Api
from tests.reference_impl.wire.single_requests import begun, named, versions

Connection = Any  # of conftest


def committed(version: int, topic: str, offset: int, *, by_id_since: int = 99) -> dict[str, Any]:
    values = {"partition_index": 0, "committed_offset": offset, "committed_metadata": "why"}
    return {**named(version, by_id_since, topic), "partitions": [values]}


def fetched(connection: Connection, group: str, topic: str) -> tuple[int, str]:
    wanted = [{"name": topic, "partition_indexes": [0]}]
    answer = connection.call(Api.OFFSET_FETCH, 5, group_id=group, topics=wanted)
    (one,) = answer.topics[0].partitions
    return one.committed_offset, one.metadata


@versions(Api.ADD_PARTITIONS_TO_TXN)
def test_partitions_are_added_to_a_transaction(
    version: int,
    broker: Callable[[str], Connection],
    coordinator: Callable[[str, int], Connection],
) -> None:
    broker("added")
    connection = coordinator(f"add-{version}", 1)
    who = begun(connection, f"add-{version}")
    topics = [{"name": "added", "partitions": [0]}]
    if version >= 4:
        one = {**who, "verify_only": False, "topics": topics}
        answer = connection.call(Api.ADD_PARTITIONS_TO_TXN, version, transactions=[one])
        (result,) = answer.results_by_transaction[0].topic_results
    else:
        values = {
            f"v3_and_below_{name}": value for name, value in {**who, "topics": topics}.items()
        }
        answer = connection.call(Api.ADD_PARTITIONS_TO_TXN, version, **values)
        (result,) = answer.results_by_topic_v3_and_below
    assert result.name == "added"
    assert [one.partition_error_code for one in result.results_by_partition] == [0]


@versions(Api.END_TXN)
def test_end_txn_without_a_transaction_is_rejected_except_an_abort_in_v2(
    version: int, coordinator: Callable[[str, int], Connection]
) -> None:
    connection = coordinator(f"end-{version}", 1)
    who = begun(connection, f"end-{version}")
    assert connection.call(Api.END_TXN, version, **who, committed=True).error_code == 48
    answer = connection.call(Api.END_TXN, version, **who, committed=False)
    if version >= 5:
        assert (answer.error_code, answer.producer_epoch) == (0, who["producer_epoch"] + 1)
    else:
        assert answer.error_code == 48


@versions(Api.ADD_OFFSETS_TO_TXN)
def test_the_offsets_of_a_group_are_added_to_a_transaction(
    version: int, coordinator: Callable[[str, int], Connection]
) -> None:
    coordinator("any", 0)
    connection = coordinator(f"offsets-{version}", 1)
    who = begun(connection, f"offsets-{version}")
    assert connection.call(Api.ADD_OFFSETS_TO_TXN, version, **who, group_id="any").error_code == 0


@versions(Api.TXN_OFFSET_COMMIT)
def test_transactional_offsets_take_effect_once_committed(
    version: int,
    broker: Callable[[str], Connection],
    coordinator: Callable[[str, int], Connection],
) -> None:
    broker("consumed")
    name = f"pipeline-{version}"
    transactions, group = coordinator(name, 1), coordinator(name, 0)
    who = begun(transactions, name)
    if version < 5:
        added = transactions.call(Api.ADD_OFFSETS_TO_TXN, 3, **who, group_id=name)
        assert added.error_code == 0
    values = {"topics": [committed(version, "consumed", 7)], "generation_id": -1, "group_id": name}
    answer = group.call(Api.TXN_OFFSET_COMMIT, version, **who, **values)
    assert answer.topics[0].partitions[0].error_code == 0
    assert fetched(group, name, "consumed") == (-1, "")
    end = 5 if version >= 5 else 4
    assert transactions.call(Api.END_TXN, end, **who, committed=True).error_code == 0
    while fetched(group, name, "consumed") != (7, "why"):
        time.sleep(0.02)


@versions(Api.OFFSET_COMMIT)
def test_a_committed_offset_is_stored_with_its_metadata(
    version: int,
    broker: Callable[[str], Connection],
    coordinator: Callable[[str, int], Connection],
) -> None:
    broker("committed")
    group = coordinator(f"commits-{version}", 0)
    answer = group.call(
        Api.OFFSET_COMMIT,
        version,
        group_id=f"commits-{version}",
        generation_id=-1,
        generation_id_or_member_epoch=-1,
        topics=[committed(version, "committed", 5, by_id_since=10)],
    )
    assert answer.topics[0].partitions[0].error_code == 0
    assert fetched(group, f"commits-{version}", "committed") == (5, "why")


@versions(Api.OFFSET_FETCH)
def test_offsets_are_fetched_by_name_or_id_and_of_many_groups(
    version: int,
    broker: Callable[[str], Connection],
    coordinator: Callable[[str, int], Connection],
) -> None:
    broker("fetched-of")
    group = coordinator("fetches", 0)
    values = {"generation_id": -1, "topics": [committed(8, "fetched-of", 3)]}
    assert group.call(Api.OFFSET_COMMIT, 8, group_id="fetches", **values).topics
    wanted = [{**named(version, 10, "fetched-of"), "partition_indexes": [0, 1]}]
    if version >= 8:
        one = {"group_id": "fetches", "topics": wanted, "member_epoch": -1}
        (answer,) = group.call(Api.OFFSET_FETCH, version, groups=[one]).groups
    else:
        answer = group.call(Api.OFFSET_FETCH, version, group_id="fetches", topics=wanted)
    told_offsets = [one.committed_offset for one in answer.topics[0].partitions]
    assert told_offsets == [3, -1]


def joining(version: int, group: str, member_id: str) -> dict[str, Any]:
    return {
        "group_id": group,
        "session_timeout": 6000,
        "rebalance_timeout": 6000,
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b"m"}],
    }


def member_of(connection: Connection, version: int, group: str) -> Any:
    answer = connection.call(Api.JOIN_GROUP, version, **joining(version, group, ""))
    if answer.error_code == 79:  # MEMBER_ID_REQUIRED
        values = joining(version, group, answer.member_id)
        answer = connection.call(Api.JOIN_GROUP, version, **values)
    return answer


@versions(Api.JOIN_GROUP)
def test_a_single_member_is_group_leader(
    version: int, coordinator: Callable[[str, int], Connection]
) -> None:
    answer = member_of(coordinator(f"joins-{version}", 0), version, f"joins-{version}")
    assert (answer.error_code, answer.generation_id, answer.protocol_name) == (0, 1, "range")
    assert answer.leader == answer.member_id
    assert [(one.member_id, one.metadata) for one in answer.members] == [(answer.member_id, b"m")]


@versions(Api.SYNC_GROUP)
def test_the_leaders_assignment_is_returned(
    version: int, coordinator: Callable[[str, int], Connection]
) -> None:
    group = coordinator(f"syncs-{version}", 0)
    joined = member_of(group, 5, f"syncs-{version}")
    values = {"group_id": f"syncs-{version}", "generation_id": 1, "member_id": joined.member_id}
    if version >= 5:
        values |= {"protocol_type": "consumer", "protocol_name": "range"}
    parts = [{"member_id": joined.member_id, "assignment": b"all"}]
    answer = group.call(Api.SYNC_GROUP, version, **values, assignments=parts)
    assert (answer.error_code, answer.assignment) == (0, b"all")


@versions(Api.HEARTBEAT)
def test_a_heartbeat_of_another_generation_is_rejected(
    version: int, coordinator: Callable[[str, int], Connection]
) -> None:
    group = coordinator(f"beats-{version}", 0)
    joined = member_of(group, 5, f"beats-{version}")
    who = {"group_id": f"beats-{version}", "member_id": joined.member_id}
    assert group.call(Api.HEARTBEAT, version, **who, generation_id=1).error_code == 0
    assert group.call(Api.HEARTBEAT, version, **who, generation_id=2).error_code == 22


@versions(Api.LEAVE_GROUP)
def test_a_member_leaves_once(version: int, coordinator: Callable[[str, int], Connection]) -> None:
    group = coordinator(f"leaves-{version}", 0)
    member_id = member_of(group, 5, f"leaves-{version}").member_id
    values: dict[str, Any] = {"group_id": f"leaves-{version}", "member_id": member_id}
    if version >= 3:
        values["members"] = [{"member_id": member_id}]
    errors: list[int] = []
    for _ in range(2):
        answer = group.call(Api.LEAVE_GROUP, version, **values)
        errors.append(answer.members[0].error_code if version >= 3 else answer.error_code)
    assert errors == [0, 25]
