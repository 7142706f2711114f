"""The broker's handlers read what a client writes, and the client reads their responses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from model.vocabulary import (
    BrokerId,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
)
from reference_impl.protocol.controller import (
    CreateTopic,
    DescribedMetadata,
    Metadata,
)
from reference_impl.protocol.groups import (
    FetchOffsets,
)
from reference_impl.protocol.messages import (
    ErrorCode,
    Fetch,
    Fetched,
    Produce,
    Produced,
)
from reference_impl.protocol.requests import Request, Response
from reference_impl.protocol.transactions import (
    AddedOffsetsToTxn,
    AddOffsetsToTxn,
    EndTxn,
    FindCoordinator,
    FoundCoordinator,
    TransactionVersion,
    TxnResult,
)
from reference_impl.wire.clients.adapter import DIALOGUES, request_frame, response_in
from reference_impl.wire.clients.dialogue import Names, UnknownError, error_code
from reference_impl.wire.clients.frames import NoCommonVersion, api_versions_request
from reference_impl.wire.clients.frames import offered_versions as offered_in
from reference_impl.wire.clients.groups import fetched_offsets
from reference_impl.wire.clients.topics import described_metadata
from reference_impl.wire.messages.adapter import Call, decode
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.versions import VERSIONS
from reference_impl.wire.requests.answers import ANSWERS
from reference_impl.wire.requests.broker.fetch_sessions import FetchSessions
from reference_impl.wire.requests.records import produce
from reference_impl.wire.security.credentials import Changes, Credentials
from tests.reference_impl.wire.clients.exchanges import ALL, EXCHANGES, IMAGE, OF_TOPIC, PLACE

R = TypeVar("R")


@dataclass
class OneAnswer:
    """A test broker with one fixed response for every request. There are two exceptions: Metadata,
    and a FindCoordinator request that is not the first request.

    Such a FindCoordinator request gets COORDINATOR_NOT_AVAILABLE.
    """

    response: Response
    broker_id: BrokerId = BrokerId(2)  # noqa: RUF009 - an int by another name
    addresses: Mapping[BrokerId, tuple[str, int]] = field(
        default_factory=lambda: {BrokerId(2): ("localhost", 9092), BrokerId(-1): ("", -1)}
    )
    asked: list[Request] = field(default_factory=list[Request])
    auto_creates_topics: bool = False
    default_partitions: int = 1
    credentials: Credentials = field(default_factory=Credentials)
    fetch_sessions: FetchSessions = field(default_factory=FetchSessions)

    async def change_credentials(self, changes: Changes) -> None:
        self.credentials.change(changes)

    def replica(self, topic_partition: TopicPartition) -> object:
        return None

    async def call(self, request: Request) -> Response:
        if isinstance(request, Metadata):
            return DescribedMetadata(image=IMAGE)
        self.asked.append(request)
        if len(self.asked) > 1 and isinstance(request, FindCoordinator):
            return FoundCoordinator(error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return self.response

    async def call_all(self, requests: Sequence[Request]) -> list[Response]:
        return [await self.call(request) for request in requests]

    def send(self, request: Produce) -> Produced | None:
        self.asked.append(request)
        return None

    async def readable(
        self,
        topic_partitions: Collection[TopicPartition],
        timeout_ms: int,
        is_unchanged: Callable[[], bool],
    ) -> None:
        raise AssertionError("every response here is complete")

    async def apart(self, work: Callable[[], R]) -> R:
        return work()


def exchanged(
    request: Request, response: Response, *, offered: Mapping[int, tuple[int, int]], names: Names
) -> tuple[Request, Response]:
    """Returns the request as the broker received it, and the response as the client received it."""
    frame, sent = request_frame(request, 5, offered, names)
    broker = OneAnswer(response)
    call = decode(frame[4:])
    answer = asyncio.run(answered(broker, call))
    return broker.asked[0], response_in(sent, answer[4:], names)


async def answered(broker: OneAnswer, call: Call) -> bytes:
    if call.api is not Api.PRODUCE:
        return await ANSWERS[call.api](broker, call)
    answer = (await produce.produce(broker, call)).frame
    assert answer is not None
    return answer


def known_names(prefix: str = "") -> Names:
    """Returns the topic names and ids that a client knows after learning the id of `orders`."""
    found = Names(prefix, {"orders"})
    frame, sent = request_frame(Metadata(), 1, ALL, found)
    broker = OneAnswer(DescribedMetadata(image=IMAGE))
    answer = asyncio.run(answered(broker, decode(frame[4:])))
    response_in(sent, answer[4:], found)
    return found


@pytest.mark.parametrize("kind", EXCHANGES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_the_core_receives_the_request_and_the_client_the_response(
    kind: str, data: st.DataObject
) -> None:
    requests, responses = EXCHANGES[kind]
    request, response = data.draw(requests), data.draw(responses)
    received, returned = exchanged(request, response, offered=ALL, names=known_names())
    if isinstance(request, Fetch) and isinstance(response, Fetched):  # only at read_committed
        response = response if request.read_committed else replace(response, aborted=())
        if response.error:  # nothing stands beside an error
            response = Fetched(topic_partition=response.topic_partition, error=response.error)
    if isinstance(request, Fetch) and isinstance(
        received, Fetch
    ):  # the adapter waits, not the core
        received = replace(received, max_wait_ms=request.max_wait_ms)
    if isinstance(received, CreateTopic):  # the settings are then the topic's own
        assert received.configured <= {"retention_ms", "segment_bytes", *OF_TOPIC}
        received = replace(received, configured=frozenset())
    assert (received, returned) == (request, response)


@pytest.mark.parametrize("dialogue", DIALOGUES.values(), ids=lambda it: it.api.name)
def test_every_version_that_the_client_writes_is_one_that_the_broker_supports(
    dialogue: Any,
) -> None:
    first, last = dialogue.versions
    assert all(version in VERSIONS[dialogue.api] for version in range(first, last + 1))


@pytest.mark.parametrize(
    ("api", "version"),
    [
        pytest.param(dialogue.api, version, id=f"{dialogue.api.name} {version}")
        for dialogue in DIALOGUES.values()
        for version in range(dialogue.versions[0], dialogue.versions[1] + 1)
        if dialogue.api is not Api.END_TXN or version < 5
    ],
)
def test_each_version_can_be_written_and_its_response_read(api: Api, version: int) -> None:
    kind = next(name for name, it in DIALOGUES.items() if it.api is api).__name__
    if kind == "Metadata":
        return
    request, response = _one(kind)
    offered = {**ALL, api: (version, version)}
    received, returned = exchanged(request, response, offered=offered, names=known_names())
    assert type(received) is type(request)
    assert type(returned) is type(response)


@cache
def _one(kind: str) -> tuple[Any, Any]:
    return find(st.tuples(*EXCHANGES[kind]), lambda _: True)


def test_a_topic_partition_that_a_broker_leaves_out_has_no_committed_offset() -> None:
    request = FetchOffsets(group="g", topic_partitions=(PLACE,))
    for error, offsets in (
        (ErrorCode.NONE, ((PLACE, None, ErrorCode.NONE),)),
        (ErrorCode.NOT_COORDINATOR, ()),
        (ErrorCode.GROUP_ID_NOT_FOUND, ((PLACE, None, ErrorCode.NONE),)),
    ):
        body = SimpleNamespace(error_code=error.value, topics=())
        returned = fetched_offsets(request, body, Names())
        assert returned.offsets == offsets
        assert returned.error is (ErrorCode.NONE if offsets else error)


def test_metadata_of_a_topic_with_more_partitions_shows_those_of_the_trial() -> None:
    known = known_names()
    known.partitions["orders"] = 1
    partitions = tuple(
        SimpleNamespace(partition_index=at, replica_nodes=(1,), isr_nodes=(1,), leader_id=1)
        for at in range(4)
    )
    topic = SimpleNamespace(name="orders", error_code=0, partitions=partitions)
    body = SimpleNamespace(topics=(topic,), brokers=())
    image = described_metadata(Metadata(), body, known).image
    assert [place for place, _ in image.topic_partitions] == [TopicPartition("orders", 0)]


def test_metadata_has_the_topics_of_the_trial_and_the_addresses_of_the_brokers() -> None:
    known = known_names()
    assert known.topic_of(known.ids["orders"]) == "orders"
    assert known.topic_of(None) == ""


def test_the_prefix_of_a_trial_is_on_the_wire_alone() -> None:
    named = Names("r1-", {"orders"})
    received, _ = exchanged(
        AddOffsetsToTxn(
            transactional_id="t",
            producer_id=ProducerId(1),
            producer_epoch=ProducerEpoch(0),
            group="readers",
        ),
        AddedOffsetsToTxn(),
        offered=ALL,
        names=named,
    )
    assert isinstance(received, AddOffsetsToTxn)
    assert (received.transactional_id, received.group) == ("r1-t", "r1-readers")
    assert named.sent("__consumer_offsets") == "__consumer_offsets"


def test_the_transaction_protocol_decides_about_the_version() -> None:
    ends = EndTxn(
        transactional_id="t",
        producer_id=ProducerId(1),
        producer_epoch=ProducerEpoch(0),
        result=TxnResult.COMMIT,
    )
    _, first = request_frame(ends, 1, ALL, Names())
    _, second = request_frame(replace(ends, version=TransactionVersion.V2), 1, ALL, Names())
    assert (first.version, second.version) == (4, 5)


def test_a_broker_without_a_common_version_is_an_error_with_both_ranges() -> None:
    with pytest.raises(
        NoCommonVersion, match=r"writes versions 4 to 12, the broker offers.* 13 to"
    ):
        request_frame(Metadata(), 1, {Api.METADATA: (13, 14)}, Names())
    with pytest.raises(NoCommonVersion, match="does not offer it"):
        request_frame(Metadata(), 1, {}, Names())


def test_the_versions_of_a_broker_come_from_its_api_versions_response() -> None:
    call = decode(api_versions_request(3)[4:])
    answer = asyncio.run(answered(OneAnswer(AddedOffsetsToTxn()), call))
    offered = offered_in(answer[4:])
    assert offered[Api.FETCH] == (VERSIONS[Api.FETCH].first, VERSIONS[Api.FETCH].last)


def test_an_error_that_no_client_handles_is_not_taken_for_another_one() -> None:
    assert error_code(56) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    with pytest.raises(UnknownError, match="error code 9999"):
        error_code(9999)
