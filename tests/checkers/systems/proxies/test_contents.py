"""The topics, partitions and producers in requests are found, in every version with a schema."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.systems.proxies.contents import Contents, FetchSession, contents_of
from checkers.systems.proxies.frames import LENGTH, Header, request_header
from checkers.systems.proxies.rules import Match
from model.vocabulary import ProducerId
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode as encode_batch
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.named_partitions import Place
from reference_impl.wire.messages.plain_messages import encode, has_schema

DATA: Final = Path(__file__).parents[3] / "data" / "proxies" / "requests-4.3.0.ndjson"
RECORDED: Final = DATA.read_text().splitlines()
ORDERS_ID: Final = UUID("4ac2c2a5-4ac2-4ac2-8ac2-4ac2c2a54ac2")
BOTH: Final = frozenset({("orders", 0), ("orders", 1)})
ONE: Final = frozenset({("orders", 0)})


def indexed(
    field: str, *, topics: str = "topics", partitions: str = "partitions"
) -> dict[str, Any]:
    """Returns a request body that names the partitions orders-0 and orders-1.

    `field` is the name of the field with the partition number.
    """
    below = [{field: 0}, {field: 1}]
    named = {"name": "orders", "topic": "orders", "topic_id": ORDERS_ID}
    return {topics: [{**named, partitions: below}]}


def numbered(field: str) -> dict[str, Any]:
    return {"name": "orders", "topic": "orders", field: [0, 1]}


TRANSACTION: Final = {"transactional_id": "payments", "producer_id": 7, "producer_epoch": 2}
BATCH: Final = encode_batch([Record(value=b"a")], producer_id=ProducerId(7))
MARKER: Final = {**TRANSACTION, "topics": [numbered("partition_indexes")], "coordinator_epoch": 0}
BODIES: Final[list[tuple[Api, dict[str, Any], Contents]]] = [
    (
        Api.PRODUCE,
        {
            "transactional_id": "payments",
            "topic_data": [
                {
                    "name": "orders",
                    "topic_id": ORDERS_ID,
                    "partition_data": [{"index": one, "records": BATCH} for one in (0, 1)],
                }
            ],
        },
        Contents(
            places=BOTH, producer_ids=frozenset({7}), transactional_ids=frozenset({"payments"})
        ),
    ),
    (Api.FETCH, {**indexed("partition"), "session_epoch": -1}, Contents(places=BOTH)),
    (Api.LIST_OFFSETS, indexed("partition_index"), Contents(places=BOTH)),
    (Api.OFFSET_COMMIT, indexed("partition_index"), Contents(places=BOTH)),
    (Api.DELETE_RECORDS, indexed("partition_index"), Contents(places=BOTH)),
    (Api.OFFSET_FOR_LEADER_EPOCH, indexed("partition"), Contents(places=BOTH)),
    (
        Api.TXN_OFFSET_COMMIT,
        {**TRANSACTION, **indexed("partition_index")},
        Contents(
            places=BOTH, producer_ids=frozenset({7}), transactional_ids=frozenset({"payments"})
        ),
    ),
    (
        Api.WRITE_TXN_MARKERS,
        {"markers": [MARKER]},
        Contents(places=BOTH, producer_ids=frozenset({7})),
    ),
    (
        Api.ALTER_PARTITION_REASSIGNMENTS,
        indexed("partition_index"),
        Contents(places=BOTH),
    ),
    (Api.ALTER_PARTITION, indexed("partition_index"), Contents(places=BOTH)),
    *(
        (
            api,
            TRANSACTION,
            Contents(producer_ids=frozenset({7}), transactional_ids=frozenset({"payments"})),
        )
        for api in (Api.ADD_OFFSETS_TO_TXN, Api.END_TXN)
    ),
    (Api.METADATA, {"topics": [{"name": "orders"}]}, Contents()),
]


def request(api: Api, version: int, body: dict[str, Any]) -> tuple[Header, bytes]:
    frame = encode(api, version, 4, body)[LENGTH.size :]
    return request_header(frame), frame


def by_name(places: Iterable[Place]) -> frozenset[Place]:
    return frozenset(("orders" if topic == ORDERS_ID else topic, index) for topic, index in places)


def versions(api: Api) -> list[int]:
    return [version for version in range(20) if has_schema(api, version)]


@pytest.mark.parametrize(("api", "body", "expected"), BODIES, ids=[api.name for api, *_ in BODIES])
def test_every_version_of_a_request_names_its_partitions_and_producers(
    api: Api, body: dict[str, Any], expected: Contents
) -> None:
    found = [contents_of(*request(api, version, body)) for version in versions(api)]
    known = [replace(one, places=by_name(one.places)) for one in found if one is not None]
    assert len(known) == len(found)
    assert known[-1] == expected
    assert {one.places for one in known} == {expected.places}


@pytest.mark.parametrize("version", versions(Api.ADD_PARTITIONS_TO_TXN))
def test_partitions_are_added_to_transactions_by_clients_and_by_brokers(version: int) -> None:
    body = {
        "v3_and_below_transactional_id": "payments",
        "v3_and_below_producer_id": 7,
        "v3_and_below_topics": [numbered("partitions")],
        "transactions": [{**TRANSACTION, "topics": [numbered("partitions")]}],
    }
    assert contents_of(*request(Api.ADD_PARTITIONS_TO_TXN, version, body)) == Contents(
        places=BOTH, producer_ids=frozenset({7}), transactional_ids=frozenset({"payments"})
    )


@pytest.mark.parametrize("version", versions(Api.FIND_COORDINATOR))
def test_the_coordinator_of_a_transactional_id_is_found_and_not_that_of_a_group(
    version: int,
) -> None:
    for kind, expected in ((0, frozenset[str]()), (1, frozenset({"payments"}))):
        body = {"key": "payments", "key_type": kind, "coordinator_keys": ["payments"]}
        found = contents_of(*request(Api.FIND_COORDINATOR, version, body))
        assert found is not None
        assert found.transactional_ids == (expected if version > 0 else frozenset())


def fetch(epoch: int, *indexes: int, forgets: tuple[int, ...] = ()) -> tuple[Header, bytes]:
    topics = [{"topic_id": ORDERS_ID, "partitions": [{"partition": one} for one in indexes]}]
    forgotten = [{"topic_id": ORDERS_ID, "partitions": forgets}]
    body = {
        "session_id": 5,
        "session_epoch": epoch,
        "topics": topics if indexes else [],
        "forgotten_topics_data": forgotten if forgets else [],
    }
    return request(Api.FETCH, 17, body)


def test_an_incremental_fetch_fetches_the_partitions_of_its_session() -> None:
    session = FetchSession()
    found = [
        session.of_request(*fetch(0, 0, 1)),
        session.of_request(*fetch(1)),  # nothing changed
        session.of_request(*fetch(2, 2)),
        session.of_request(*fetch(3, forgets=(0,))),
        session.of_request(*fetch(0, 3)),  # a new session
    ]
    indexes = [{index for _, index in one.places} for one in found if one is not None]
    assert indexes == [{0, 1}, {0, 1}, {0, 1, 2}, {1, 2}, {3}]
    assert all(one is not None and one.is_complete for one in found)


def test_a_session_that_began_elsewhere_is_not_known_until_a_full_fetch() -> None:
    session = FetchSession()
    for number, (sent, complete) in enumerate([(fetch(7, 0), False), (fetch(0, 0), True)]):
        found = session.of_request(*sent)
        assert found is not None, number
        assert found.is_complete is complete
    header, frame = fetch(1)
    assert session.of_request(header, frame[:-3]) is None  # nobody can read it
    again = session.of_request(*fetch(2, 1))
    assert again is not None
    assert not again.is_complete


@pytest.mark.parametrize(
    ("match", "contents", "selected"),
    [
        (Match(topic="orders", partition=0), Contents(places=BOTH), True),
        (Match(topic="orders", partition=2), Contents(places=BOTH), False),
        (Match(topic="orders"), Contents(places=ONE), True),
        (Match(partition=1), Contents(places=ONE), False),
        (Match(topic="other"), Contents(places=BOTH), False),
        (Match(topic="orders"), Contents(), False),
        (Match(producer_id=7), Contents(producer_ids=frozenset({7})), True),
        (Match(producer_id=8), Contents(producer_ids=frozenset({7})), False),
        (Match(transactional_id="a"), Contents(transactional_ids=frozenset({"a"})), True),
        (Match(transactional_id="a"), Contents(transactional_ids=frozenset({"b"})), False),
        (Match(topic="orders", producer_id=8), Contents(places=BOTH), False),
        # a topic by its id
        (Match(topic_id=ORDERS_ID), Contents(places=frozenset({(ORDERS_ID, 0)})), True),
        (Match(topic="orders"), Contents(places=frozenset({(ORDERS_ID, 0)})), None),
        (
            Match(topic="orders", partition=1),
            Contents(places=frozenset({(ORDERS_ID, 0)})),
            False,  # whatever its name is
        ),
        (Match(topic_id=ORDERS_ID), Contents(places=ONE), None),
        # what is not known
        (Match(topic="orders", partition=2), Contents(places=BOTH, is_complete=False), None),
        (Match(topic="orders", partition=1), Contents(places=BOTH, is_complete=False), True),
        (Match(topic="orders"), None, None),
        (Match(api=Api.PRODUCE), None, True),
    ],
)
def test_a_rule_selects_by_contents_and_reports_when_it_cannot(
    match: Match, contents: Contents | None, selected: bool | None
) -> None:
    assert match.selects_contents(contents) is selected


def test_a_version_or_a_body_that_nobody_knows_has_no_contents() -> None:
    header, frame = request(Api.LIST_OFFSETS, 6, indexed("partition_index"))
    assert contents_of(header, frame[:-5]) is None
    unknown = Header(api_key=0, api_version=99, correlation_id=4, client_id=None)
    assert contents_of(unknown, frame) is None
    other = Header(api_key=9_999, api_version=0, correlation_id=4, client_id=None)
    assert contents_of(other, frame) is None


INDEXES: Final = st.dictionaries(st.sampled_from("abc"), st.sets(st.integers(0, 9), min_size=1))


@given(topics=INDEXES, version=st.sampled_from(versions(Api.LIST_OFFSETS)))
def test_exactly_the_partitions_of_a_request_are_found(
    topics: dict[str, set[int]], version: int
) -> None:
    body = {
        "topics": [
            {"name": topic, "partitions": [{"partition_index": one} for one in sorted(indexes)]}
            for topic, indexes in topics.items()
        ]
    }
    found = contents_of(*request(Api.LIST_OFFSETS, version, body))
    expected = {(topic, index) for topic, indexes in topics.items() for index in indexes}
    assert found == Contents(places=frozenset(expected))


@given(api=st.sampled_from(Api), version=st.integers(0, 20), body=st.binary(max_size=80))
def test_no_bytes_of_a_body_stop_the_proxy(api: Api, version: int, body: bytes) -> None:
    header = Header(api_key=api, api_version=version, correlation_id=4, client_id="a")
    frame = api.to_bytes(2) + version.to_bytes(2) + b"\0\0\0\4\0\1a" + body
    found = contents_of(header, frame)
    assert found is None or isinstance(found, Contents)


@pytest.mark.parametrize("line", RECORDED, ids=lambda line: json.loads(line)["request"])
def test_requests_of_clients_and_brokers_are_read(line: str) -> None:
    """Proxies read the contents of recorded requests of librdkafka and of Kafka's brokers.

    The requests are of librdkafka 2.16 and Kafka 4.3.0.
    """
    recorded = json.loads(line)
    frame = bytes.fromhex(recorded["frame"])
    header = request_header(frame)
    assert recorded["request"] == f"{Api(header.api_key).name} v{header.api_version}"
    found = contents_of(header, frame)
    assert found is not None
    assert sorted(f"{topic}-{index}" for topic, index in found.places) == recorded["places"]
    assert sorted(found.producer_ids) == recorded["producer_ids"]
    assert sorted(found.transactional_ids) == recorded["transactional_ids"]
    assert contents_of(header, frame[:-4]) is None
