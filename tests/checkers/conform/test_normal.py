"""A value that a system may choose freely, such as an id, is replaced by a symbol.

All other values stay unchanged, so answers of two systems can be compared.
"""

from __future__ import annotations

from uuid import UUID

import pytest

from checkers.conform.batches import batch
from checkers.conform.normal import NOT_COMPARED, Normal
from checkers.conform.session import Session
from checkers.conform.steps import bound, if_same, now, raw, topic_id
from checkers.conform.target import Target
from reference_impl.log.record_batch import header, with_timestamp

ID = UUID(int=9)
BEGUN_MS = 1_700_000_000_000


@pytest.fixture
def session() -> Session:
    target = Target(name="x", bootstrap_servers="h:1", run="run-", begun_ms=BEGUN_MS)
    target.brokers = {1: ("h", 1), 2: ("h", 2)}
    made = Session(target, 4)
    made.topics = {"~t": {"topic_id": ID, "partitions": []}}
    return made


@pytest.fixture
def normal(session: Session) -> Normal:
    return Normal(session)


def test_drawn_ids_are_numbered_by_first_appearance(normal: Normal) -> None:
    assert normal.form({"producer_id": 4711}) == {"producer_id": "producer 1"}
    assert normal.form({"producer_id": 17}) == {"producer_id": "producer 2"}
    assert normal.form({"producer_id": 4711}) == {"producer_id": "producer 1"}
    assert normal.form({"producer_id": -1}) == {"producer_id": -1}
    assert normal.form({"member_id": "consumer-5f3a"}) == {"member_id": "member 1"}
    assert normal.form({"member_id": ""}) == {"member_id": ""}


def test_names_of_the_run_are_written_as_in_the_sequence(normal: Normal) -> None:
    assert normal.form({"name": "run-4-t", "group_id": "run-shared", "member_id": "run-4-a"}) == {
        "name": "~t",
        "group_id": "^shared",
        "member_id": "~a",
    }


def test_brokers_replicas_ids_and_times_are_symbols(normal: Normal) -> None:
    answer = {
        "leader_id": 2,
        "isr_nodes": [3, 1],
        "topic_id": ID,
        "timestamp": BEGUN_MS + 30,
        "offset": 30,
    }
    assert normal.form(answer) == {
        "leader_id": "broker",
        "isr_nodes": 2,
        "topic_id": "id of ~t",
        "timestamp": "begin+30",
        "offset": 30,
    }
    assert normal.form({"leader_id": -1, "timestamp": -1}) == {"leader_id": -1, "timestamp": -1}


def test_objects_in_a_list_are_in_the_order_of_their_names(normal: Normal) -> None:
    rows = [{"partition_index": 10}, {"partition_index": 9}]
    assert normal.form({"partitions": rows})["partitions"] == rows[::-1]


def test_fields_that_are_not_compared_are_left_out(normal: Normal) -> None:
    assert normal.form(dict.fromkeys(NOT_COMPARED, 1)) == {}


def test_batches_are_decoded_and_a_cut_one_is_named(normal: Normal) -> None:
    data = batch({"records": 1, "timestamp": BEGUN_MS + 5, "value": "v", "producer_id": 88})
    whole, cut = normal.form({"records": data + data[:20]})["records"]
    assert cut == "a cut batch"
    assert whole["records"] == [[0, None, "v0", 5]]
    assert whole["producer_id"] == "producer 1"
    (corrupt,) = normal.form({"records": data[:-1] + b"?"})["records"]
    assert corrupt.startswith("corrupt: ")


def test_times_of_the_brokers_clock_and_missing_times_are_symbols(normal: Normal) -> None:
    data = with_timestamp(
        whole := batch({"records": 1, "value": "v"}), header(whole), BEGUN_MS, log_append_time=True
    )
    (appended,) = normal.form({"records": data})["records"]
    assert appended["records"] == [[0, None, "v0", "now"]]
    (untimed,) = normal.form({"records": batch({"records": 1, "timestamp": -1})})["records"]
    assert untimed["records"] == [[0, None, "v0", -1]]


def test_quotas_of_other_sequences_are_left_out(normal: Normal) -> None:
    mine, other = (
        {"entity": [{"entity_type": "user", "entity_name": name}], "values": []}
        for name in ("~t", "somebody")
    )
    assert normal.form({"entries": [mine, other]}) == {"entries": [mine]}
    refused = {**other, "error_code": "INVALID_REQUEST"}
    assert normal.form({"entries": [refused]}) == {"entries": [refused]}


def test_a_missing_answer_stays_a_text(normal: Normal) -> None:
    assert normal.form("no answer") == "no answer"


def test_symbols_of_a_body_become_values_of_this_cluster(session: Session) -> None:
    session.values = {"p.id": 7, "a": "m", "leader": "m"}
    assert session.resolved(
        {
            "producer_id": bound("q.id", "p.id", plus=2),
            "epoch": bound("p.epoch", otherwise=5),
            "topic": "~t",
            "shared": "^two",
            "topic_id": topic_id("~t"),
            "unknown": topic_id("~u"),
            "time": now(-3),
            "data": raw(b"x"),
            "list": if_same("leader", "a", ["~t"], []),
            "other": if_same("leader", "b", [1], [2]),
        }
    ) == {
        "producer_id": 9,
        "epoch": 5,
        "topic": "run-4-t",
        "shared": "run-two",
        "topic_id": ID,
        "unknown": UUID(int=5),
        "time": BEGUN_MS - 3,
        "data": b"x",
        "list": ["run-4-t"],
        "other": [2],
    }


def test_a_receiver_without_a_leader_is_the_lowest_broker(session: Session) -> None:
    assert session.receiver("leader ~t 0") == 1
    assert session.receiver("any") == 1
    session.topics["~t"]["partitions"] = [{"partition_index": 0, "leader_id": 2}]
    assert session.receiver("leader ~t 0") == 2
    assert session.receiver("follower ~t 0") == 1
    assert session.receiver("leader ~t 9") == 2
