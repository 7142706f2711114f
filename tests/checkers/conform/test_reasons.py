"""Each known reason for a difference between two brokers applies only under narrow conditions.

In each table of reasons, the names are unique, and the general reasons come last.
"""

from __future__ import annotations

from typing import Any

import pytest

from checkers.conform.compare import differences
from checkers.conform.left_out import LEFT_OUT, LIBRDKAFKA_MOCK, is_left_out
from checkers.conform.normal import CUT_BATCH
from checkers.conform.peer_reasons import KFAKE, PEERS, reasons_of
from checkers.conform.reason import Reason, Verdict, reason_of
from checkers.conform.reasons import REASONS, SEGMENT_MS
from checkers.conform.steps import READS, Send
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.versions import VERSIONS


def send(api: Api, version: int, note: str = "any") -> Send:
    return Send(api=api, version=version, body={}, to="any", note=note)


def reasons(sent: Send, system: Any, reference: Any, system_name: str = "kafka") -> set[str | None]:
    rows = reasons_of(system_name)
    found = [reason_of(one, rows) for one in differences(sent, system, reference)]
    return {None if row is None else row.name for row in found}


# ------------------------------------------------------------ equal choices


def joined(leader: str, *members: str) -> dict[str, Any]:
    listed = [{"member_id": one, "metadata": "m"} for one in members]
    return {"error_code": "NONE", "generation_id": 3, "leader": leader, "members": listed}


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({}, {"leader-among-equals"}),
        ({"generation_id": 4}, {None}),
        ({"leader": ""}, {None}),
        ({"error_code": "UNKNOWN_MEMBER_ID"}, {None}),
    ],
)
def test_any_member_may_lead_the_same_generation(
    changes: dict[str, Any], names: set[str | None]
) -> None:
    leads = joined("member 1", "member 1", "member 2")
    follows = joined("member 2") | changes
    assert reasons(send(Api.JOIN_GROUP, 7), leads, follows) == names


def owned(*partitions: int) -> dict[str, Any]:
    parts = [{"topic_id": "id of ^four", "partitions": [*partitions]}]
    return {"member_epoch": 3, "assignment": {"topic_partitions": parts if partitions else []}}


@pytest.mark.parametrize(
    ("theirs", "ours", "names"),
    [
        (owned(0, 1), owned(0, 2), {"assignment-among-equals"}),
        (owned(0, 1), owned(0), {None}),
        (owned(0), owned(), {None}),
    ],
)
def test_an_assignor_may_choose_partitions_and_not_their_number(
    theirs: Any, ours: Any, names: set[str | None]
) -> None:
    assert reasons(send(Api.CONSUMER_GROUP_HEARTBEAT, 1), theirs, ours) == names


def beat(epoch: int, *partitions: int) -> dict[str, Any]:
    parts = [{"topic_id": "id of ^four", "partitions": [*partitions]}]
    assignment = {"topic_partitions": parts} if partitions else None
    return {"error_code": "NONE", "member_epoch": epoch, "assignment": assignment}


@pytest.mark.parametrize(
    ("theirs", "ours", "names"),
    [
        (beat(6), beat(5, 0), {"larger-share-among-equals"}),
        (beat(5, 0), beat(6), {"larger-share-among-equals"}),
        (beat(5), beat(5, 0), {None}),
        (beat(6), beat(6, 0, 1), {None}),
        (beat(7), beat(5, 0), {None}),
        (beat(6), beat(5), {None}),
    ],
)
def test_an_assignor_may_choose_the_member_with_one_partition_more(
    theirs: Any, ours: Any, names: set[str | None]
) -> None:
    assert reasons(send(Api.CONSUMER_GROUP_HEARTBEAT, 1), theirs, ours) == names


def fetched(*times_ms: int) -> dict[str, Any]:
    records = [{"records": [[at, None, "v", ms]]} for at, ms in enumerate(times_ms)]
    return {"responses": [{"partitions": [{"error_code": "NONE", "records": records}]}]}


@pytest.mark.parametrize(
    ("theirs", "ours", "names"),
    [
        ((0,), (0, SEGMENT_MS + 1), {"end-of-a-segment"}),
        ((0,), (0, SEGMENT_MS), {None}),
        ((0, SEGMENT_MS + 1), (0,), {None}),  # the reference broker has too few
        ((1,), (0, SEGMENT_MS + 1), {None}),  # another record
        ((), (0, SEGMENT_MS + 1), {None}),
    ],
)
def test_a_fetch_may_end_where_a_batch_a_week_younger_begins_a_segment(
    theirs: tuple[int, ...], ours: tuple[int, ...], names: set[str | None]
) -> None:
    assert reasons(send(Api.FETCH, 4), fetched(*theirs), fetched(*ours)) == names


# ------------------------------------------------------------ tables of peers


@pytest.mark.parametrize("rows", [REASONS, *PEERS.values()], ids=["kafka", *PEERS])
def test_each_reason_of_a_table_has_its_own_name_and_one_sentence(rows: tuple[Reason, ...]) -> None:
    names = [row.name for row in rows]
    assert len(names) == len(set(names))
    assert all(row.sentence.endswith(".") for row in rows)


@pytest.mark.parametrize("peer", PEERS)
def test_general_reasons_come_last_and_cover_every_request(peer: str) -> None:
    rows = PEERS[peer]
    general = [row.general for row in rows]
    assert general == sorted(general)
    for api in VERSIONS:
        row = next(row for row in rows if row.name == f"other-{api.name.lower().replace('_', '-')}")
        assert (row.apis, row.verdict) == (frozenset({api}), Verdict.THEIRS)
        assert row.ends is (api not in READS)  # a read changes nothing


def test_a_specific_reason_of_a_peer_comes_before_its_general_one() -> None:
    after = send(Api.API_VERSIONS, 0, "after acks=0, wrong checksum")
    closed = "the connection is closed"
    assert reasons(after, {"error_code": "NONE"}, closed, KFAKE) == {"acks-0-stays-open"}
    other = send(Api.API_VERSIONS, 0, "versions")
    assert reasons(other, {"error_code": "NONE"}, closed, KFAKE) == {"other-api-versions"}
    assert reasons(other, {"error_code": "NONE"}, closed) == {None}


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [(["b"], "batch-at-the-limit"), ([], "other-fetch"), (["b", "c", "d"], "other-fetch")],
)
def test_a_peer_may_leave_out_only_the_batch_that_the_limit_cuts(
    theirs: list[str], expected: str
) -> None:
    limited = send(Api.FETCH, 12, "max_bytes 90")
    system, reference = {"records": theirs}, {"records": ["b", CUT_BATCH]}
    assert reasons(limited, system, reference, KFAKE) == {expected}


def test_fields_of_a_response_with_an_error_need_not_agree() -> None:
    sent = send(Api.INIT_PRODUCER_ID, 4)
    theirs, ours = {"error_code": "A", "epoch": 0}, {"error_code": "B", "epoch": -1}
    names = reasons(sent, theirs, ours, KFAKE)
    assert names == {"other-init-producer-id", "fields-with-an-error"}


def test_a_request_that_ends_the_process_is_not_sent() -> None:
    assert {row.system for row in LEFT_OUT} == {LIBRDKAFKA_MOCK}
    assert is_left_out(LIBRDKAFKA_MOCK, send(Api.PRODUCE, 9, "no batch"))
    assert not is_left_out(LIBRDKAFKA_MOCK, send(Api.PRODUCE, 9, "two batches"))
    assert not is_left_out("kafka", send(Api.PRODUCE, 9, "no batch"))
