"""A fetch session keeps its partitions and their last responses, and keeps no replica's log in
memory.
"""

from __future__ import annotations

import asyncio
import weakref
from typing import Any
from uuid import UUID

import pytest

from model.vocabulary import TopicPartition
from reference_impl.partition.weakly_referenced import WeaklyReferenced
from reference_impl.protocol.messages import Fetched
from reference_impl.wire.faults.error_answers import refusal, response_in
from reference_impl.wire.faults.session_partitions import with_session_partitions
from reference_impl.wire.messages.adapter import Call
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.named_partitions import named as named_partitions
from reference_impl.wire.messages.plain_messages import encode as encode_request
from reference_impl.wire.messages.plain_messages import read_request
from reference_impl.wire.nodes.long_polls import LongPolls
from reference_impl.wire.requests.broker.fetch_partition import FetchPartition
from reference_impl.wire.requests.broker.fetch_sessions import (
    FetchContext,
    FetchSessions,
    SessionError,
)
from reference_impl.wire.requests.broker.topic_ids import TopicIds

FULL = 0


def named(answer: Any) -> list[int]:
    """Returns the partitions in a response, in their order."""
    return [one.partition_index for topic in answer.responses for one in topic.partitions]


def called(version: int, session: tuple[int, int], *partitions: int, forget: int) -> Call:
    wanted = [
        {"partition": index, "fetch_offset": 0, "partition_max_bytes": 1} for index in partitions
    ]
    name = {"topic": "t", "topic_id": UUID(int=7)}
    frame = encode_request(Api.FETCH, version, 7, {
        "session_id": session[0], "session_epoch": session[1],
        "topics": [{**name, "partitions": wanted}] if wanted else [],
        "forgotten_topics_data": [{**name, "partitions": [forget]}],
    })  # fmt: skip
    return Call(Api.FETCH, version, 7, "test", read_request(Api.FETCH, version, frame[4:]))


@pytest.mark.parametrize("version", [7, 12, 13, 17])
def test_a_fault_sees_the_partitions_that_only_the_session_has(version: int) -> None:
    sessions = FetchSessions()
    ids = TopicIds({"t": UUID(int=7)}, {UUID(int=7): ("t", 0)}) if version > 12 else None
    first = called(version, (0, FULL), 0, 1, 2, forget=9)
    context = sessions.begin(version, first.body, ids, 0)
    assert isinstance(context, FetchContext)
    answers = [(one, Fetched(topic_partition=one.place)) for one in context.partitions]
    ended = sessions.end(context, FULL, answers, 0)
    assert not isinstance(ended, SessionError)

    incremental = called(version, (ended[1], 1), 1, forget=2)
    complete = with_session_partitions(incremental, sessions)
    assert {index for _, index in named_partitions(complete.body)} == {0, 1}
    refused = response_in(complete, refusal(complete, "NOT_LEADER_OR_FOLLOWER"))
    assert sorted(named(refused)) == [0, 1]
    assert with_session_partitions(first, sessions) is first, "a full fetch names all"
    unknown = called(version, (ended[1] ^ 1, 1), 1, forget=2)
    assert with_session_partitions(unknown, sessions) is unknown


def kept_by(partition: FetchPartition, replica: WeaklyReferenced) -> Fetched:
    request = partition.request(read_committed=False, any_replica=True)
    answer = Fetched(topic_partition=partition.place)
    partition.keep(request, answer, replica)
    return answer


def test_a_response_is_remembered_for_one_replica_and_one_request() -> None:
    wanted = called(12, (0, FULL), 0, forget=9).body.topics[0].partitions[0]
    partition = FetchPartition(None, "t", wanted)
    replica = WeaklyReferenced()
    answer = kept_by(partition, replica)
    assert partition.answer_of(replica) is answer
    assert partition.answer_of(WeaklyReferenced()) is None
    late = partition.request(read_committed=False, any_replica=True)
    partition.want(wanted)
    partition.keep(late, answer, replica)
    assert partition.answer_of(replica) is None, "the response of an earlier request"


def test_a_session_keeps_no_replica_in_memory() -> None:
    wanted = called(12, (0, FULL), 0, forget=9).body.topics[0].partitions[0]
    partition = FetchPartition(None, "t", wanted)
    replica = WeaklyReferenced()
    kept_by(partition, replica)
    alive = weakref.ref(replica)
    del replica
    assert alive() is None
    assert partition.answer_of(None) is None, "not even the broker's missing replica"


def test_a_change_between_the_read_and_the_wait_ends_the_wait() -> None:
    async def waits(is_unchanged: bool) -> bool:
        polls = LongPolls()
        try:
            async with asyncio.timeout(0.05):
                await polls.readable([TopicPartition("t", 0)], 20_000, lambda: is_unchanged)
        except TimeoutError:
            return True
        return False

    assert asyncio.run(waits(is_unchanged=True))
    assert not asyncio.run(waits(is_unchanged=False))
