"""The cache of fetch sessions refuses and evicts the same sessions as Kafka's (KIP-227)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from model.vocabulary import Offset, TopicPartition
from reference_impl.protocol.messages import ErrorCode, Fetched
from reference_impl.wire.requests.broker import fetch_sessions
from reference_impl.wire.requests.broker.fetch_sessions import (
    EVICTION_MS,
    FetchContext,
    FetchSessions,
    SessionError,
)

FULL = 0


def body(session_id: int, epoch: int, *partitions: int, follower: bool = False) -> Any:
    wanted = [SimpleNamespace(partition=index) for index in partitions]
    return SimpleNamespace(
        session_id=session_id,
        session_epoch=epoch,
        topics=[SimpleNamespace(topic="t", partitions=wanted)],
        forgotten_topics_data=[],
        replica_id=1 if follower else -1,
    )


def begun(
    sessions: FetchSessions, now_ms: int, partitions: int = 1, *, follower: bool = False
) -> int:
    """Requests a session for some partitions; returns its id, or 0 if it gets no session."""
    request = body(0, FULL, *range(partitions), follower=follower)
    context = sessions.begin(12, request, None, now_ms)
    assert isinstance(context, FetchContext)
    answers = [
        (one, Fetched(topic_partition=TopicPartition("t", one.index), high_watermark=Offset(0)))
        for one in context.partitions
    ]
    ended = sessions.end(context, FULL, answers, now_ms)
    assert not isinstance(ended, SessionError)
    return ended[1]


def is_known(sessions: FetchSessions, session_id: int) -> bool:
    return session_id in sessions._sessions


def test_a_full_cache_refuses_new_sessions_while_all_are_young() -> None:
    sessions = FetchSessions(slots=2)
    first, second = begun(sessions, 0), begun(sessions, 1)
    assert begun(sessions, EVICTION_MS, partitions=9) == 0
    assert is_known(sessions, first)
    assert is_known(sessions, second)


def test_the_session_that_was_not_used_for_two_minutes_goes_first() -> None:
    sessions = FetchSessions(slots=2)
    first, second = begun(sessions, 0, 5), begun(sessions, 0, 1)
    assert not isinstance(sessions.begin(12, body(second, 1), None, 2), SessionError)
    assert begun(sessions, EVICTION_MS + 1) > 0
    assert not is_known(sessions, first)
    assert is_known(sessions, second)


@pytest.mark.parametrize(("partitions", "is_begun"), [(2, False), (3, False), (4, True)])
def test_a_larger_session_replaces_an_old_smaller_one(partitions: int, is_begun: bool) -> None:
    sessions = FetchSessions(slots=1)
    old = begun(sessions, 0, 3)
    later_ms = EVICTION_MS + 1
    assert not isinstance(sessions.begin(12, body(old, 1), None, later_ms), SessionError)
    assert bool(begun(sessions, later_ms, partitions)) is is_begun


def test_a_follower_replaces_a_young_consumer_but_not_another_follower() -> None:
    sessions = FetchSessions(slots=1)
    consumer = begun(sessions, 0, 9)
    follower = begun(sessions, 1, 1, follower=True)
    assert not is_known(sessions, consumer)
    assert begun(sessions, 2, 9, follower=True) == 0
    assert is_known(sessions, follower)


def test_all_sessions_together_have_limited_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_sessions, "MOST_PARTITIONS", 10)
    sessions = FetchSessions()
    small = begun(sessions, 0, 6)
    assert begun(sessions, 0, 6) == 0
    grown = sessions.begin(12, body(small, 1, *range(20)), None, 0)
    assert grown == SessionError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    assert begun(sessions, 0, 6) > 0, "the partitions of an ended session do not count"


def test_a_late_response_of_a_session_that_went_on_is_refused() -> None:
    sessions = FetchSessions()
    id_ = begun(sessions, 0)
    first = sessions.begin(12, body(id_, 1), None, 0)
    assert isinstance(first, FetchContext)
    assert isinstance(sessions.begin(12, body(id_, 2), None, 0), FetchContext)
    late = sessions.end(first, 1, [], 0)
    assert late == SessionError(ErrorCode.INVALID_FETCH_SESSION_EPOCH, id_)


def test_the_epoch_after_the_last_one_is_one() -> None:
    sessions = FetchSessions()
    id_ = begun(sessions, 0)
    sessions._sessions[id_].epoch = 2**31 - 1
    assert isinstance(sessions.begin(12, body(id_, 2**31 - 1), None, 0), FetchContext)
    assert isinstance(sessions.begin(12, body(id_, 1), None, 0), FetchContext)
