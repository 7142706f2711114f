"""Fetch sessions: a client names all its partitions in one request. Later requests name only
changes.

Each line shows a session epoch that a request can have, and its meaning:

    epoch 0           a full fetch: all partitions are named; the response begins a session
    epoch 1, 2, ...   an incremental fetch of the session: it names new partitions, partitions with
                      other offsets than before, and partitions to remove from the session; the
                      response has only changed partitions
    epoch -1          a full fetch that ends the session, if any, and begins none

If a broker has 1,000 sessions, a new session replaces a session that was not used for two minutes.
If there is none, it replaces a smaller session that was in use for more than two minutes. The
session of a follower may also replace any session of a consumer. If no session can be replaced, the
client gets no session. A request gets an error if its epoch is not the next epoch of the session.
The client then begins a new session.

A response without records is stored for each partition. The broker sends it again without reading
the partition, until the replica changes. Replicas are immutable, so a replica that has changed is
another object.

Source: KIP-227; FetchManager.newContext, FetchContext, FetchSession, FetchSessionCacheShard.
Simplified: All sessions are in one cache. Kafka has eight shards, each for an eighth of the
sessions. All sessions of a broker together have at most 200,000 partitions. A session that would
exceed this number ends.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from reference_impl.protocol.messages import ErrorCode, Fetched
from reference_impl.wire.requests.broker.fetch_partition import (
    FetchPartition,
    Key,
    forgotten,
    key_of,
    keys_of,
    named,
)
from reference_impl.wire.requests.broker.topic_ids import TopicIds

NO_SESSION: Final = 0
INITIAL_EPOCH, FINAL_EPOCH = 0, -1
LAST_EPOCH: Final = 2**31 - 1
IDS_SINCE: Final = 13  # Fetch: topics have ids instead of names (KIP-516)

SLOTS: Final = 1_000  # max.incremental.fetch.session.cache.slots
EVICTION_MS: Final = 120_000  # min.incremental.fetch.session.eviction.ms
MOST_PARTITIONS: Final = 200_000

Answers: TypeAlias = list[tuple[FetchPartition, Fetched]]


@dataclass(slots=True)
class FetchSession:
    """A fetch session: the partitions of a client at one broker, in the order in which the next
    fetch reads them.
    """

    id: int
    privileged: bool  # of a follower
    uses_topic_ids: bool
    created_ms: int
    used_ms: int
    partitions: dict[Key, FetchPartition]
    epoch: int = INITIAL_EPOCH + 1  # of the next request
    counted: int = 0  # partitions, when it was last used

    def is_evictable_by(self, *, privileged: bool) -> bool:
        is_old = self.used_ms - self.created_ms > EVICTION_MS
        return is_old or (privileged and not self.privileged)

    @property
    def value(self) -> tuple[bool, int, int]:
        """The key by which sessions are evicted: the session with the smallest key is evicted
        first.

        The key is a tuple: whether the session belongs to a follower, its number of partitions at
        its latest use, and its id.
        """
        return self.privileged, self.counted, self.id


@dataclass(frozen=True, slots=True)
class SessionError:
    """The refusal of a fetch request that does not fit its session."""

    error: ErrorCode
    session_id: int = NO_SESSION


@dataclass(frozen=True, slots=True)
class FetchContext:
    partitions: Collection[FetchPartition]
    session: FetchSession | None = None  # of an incremental fetch
    begins_session: bool = False
    is_privileged: bool = False
    uses_topic_ids: bool = False


@dataclass(slots=True)
class FetchSessions:
    """The fetch sessions of one broker.

    Large requests are handled in another thread, so each method holds a lock.
    """

    slots: int = SLOTS
    _sessions: dict[int, FetchSession] = field(default_factory=dict)
    _partitions: int = 0  # of all sessions
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __len__(self) -> int:
        return len(self._sessions)

    def clear(self) -> None:
        """Removes all sessions. The method is called when the broker dies or stops."""
        with self._lock:
            self._sessions.clear()
            self._partitions = 0

    def begin(
        self, version: int, body: Any, ids: TopicIds | None, now_ms: int
    ) -> FetchContext | SessionError:
        """Returns the partitions that a fetch request reads, and its session. Returns a
        SessionError if the request does not fit its session.

        `ids` contains the ids of all topics in the applied metadata. It is None if the request
        contains topic names instead of topic ids.

        Kafka: FetchManager.newContext.
        """
        session_id = getattr(body, "session_id", NO_SESSION)
        epoch = getattr(body, "session_epoch", FINAL_EPOCH)
        wanted = named(body.topics, ids)
        with self._lock:
            if epoch in {INITIAL_EPOCH, FINAL_EPOCH}:
                self._remove(session_id)
                return FetchContext(
                    wanted.values(),
                    begins_session=epoch == INITIAL_EPOCH,
                    is_privileged=_is_follower(body),
                    uses_topic_ids=version >= IDS_SINCE,
                )
            session = self._sessions.get(session_id)
            if session is None:
                return SessionError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
            if session.epoch != epoch:
                return SessionError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
            if session.uses_topic_ids != (version >= IDS_SINCE):
                return SessionError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
            _update(session, wanted, forgotten(body))
            if not session.partitions:
                self._remove(session_id)
                return FetchContext(wanted.values())
            self._touch(session, now_ms)
            if self._partitions > MOST_PARTITIONS:
                self._remove(session_id)
                return SessionError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
            session.epoch = _after(epoch)
            if ids is not None:
                for partition in session.partitions.values():
                    partition.resolve(ids)
            return FetchContext([*session.partitions.values()], session)

    def end(
        self, context: FetchContext, epoch: int, answers: Answers, now_ms: int
    ) -> tuple[Answers, int] | SessionError:
        """Returns the partitions of the response with their answers, and the session id.

        The response to an incremental fetch contains only partitions that changed. If the client
        has sent a newer request in the meantime, returns a SessionError.

        Kafka: FetchContext.updateAndGenerateResponseData.
        """
        session = context.session
        with self._lock:
            if session is None:
                return answers, self._maybe_create(context, answers, now_ms)
            if session.epoch != _after(epoch):
                return SessionError(ErrorCode.INVALID_FETCH_SESSION_EPOCH, session.id)
            chosen: Answers = []
            for partition, answer in answers:
                key = key_of(partition)
                if session.partitions.get(key) is partition and partition.must_respond(answer):
                    chosen.append((partition, answer))
                    if answer.batches:
                        # The other partitions are read first by the next fetch.
                        session.partitions[key] = session.partitions.pop(key)
            return chosen, session.id

    def unnamed_partitions(self, body: Any) -> list[FetchPartition]:
        """Returns the partitions that an incremental fetch reads, but does not name. Returns no
        partitions for a full fetch.
        """
        epoch = getattr(body, "session_epoch", FINAL_EPOCH)
        with self._lock:
            session = self._sessions.get(getattr(body, "session_id", NO_SESSION))
            if session is None or epoch in {INITIAL_EPOCH, FINAL_EPOCH}:
                return []
            known = dict(session.partitions)
        for key in [*keys_of(body.topics), *forgotten(body)]:
            known.pop(key, None)
        return [*known.values()]

    # ------------------------------------------------------------ the cache

    def _maybe_create(self, context: FetchContext, answers: Answers, now_ms: int) -> int:
        # Kafka: FetchSessionCacheShard.maybeCreateSession.
        size = len(answers)
        if not context.begins_session or self._partitions + size > MOST_PARTITIONS:
            return NO_SESSION
        is_full = len(self._sessions) >= self.slots
        if is_full and not self._evicts((context.is_privileged, size, 0), now_ms):
            return NO_SESSION
        id_ = self._new_id()
        for partition, answer in answers:
            partition.remember(answer)
        partitions = {key_of(partition): partition for partition, _ in answers}
        session = self._sessions[id_] = FetchSession(
            id_, context.is_privileged, context.uses_topic_ids, now_ms, now_ms, partitions
        )
        self._touch(session, now_ms)
        return id_

    def _evicts(self, value: tuple[bool, int, int], now_ms: int) -> bool:
        # Kafka: FetchSessionCacheShard.tryEvict.
        oldest = min(self._sessions.values(), key=lambda one: (one.used_ms, one.id), default=None)
        if oldest is None:
            return False
        if now_ms - oldest.used_ms > EVICTION_MS:
            self._remove(oldest.id)
            return True
        is_privileged, _, _ = value
        evictable = (
            one for one in self._sessions.values() if one.is_evictable_by(privileged=is_privileged)
        )
        least = min(evictable, key=lambda one: one.value, default=None)
        if least is None or value < least.value:
            return False
        self._remove(least.id)
        return True

    def _new_id(self) -> int:
        # Random, so that no session of a broker's earlier life has it.
        while (id_ := 1 + secrets.randbelow(LAST_EPOCH)) in self._sessions:
            pass
        return id_

    def _touch(self, session: FetchSession, now_ms: int) -> None:
        session.used_ms = now_ms
        self._partitions += len(session.partitions) - session.counted
        session.counted = len(session.partitions)

    def _remove(self, session_id: int) -> None:
        removed = self._sessions.pop(session_id, None)
        if removed is not None:
            self._partitions -= removed.counted


def _update(
    session: FetchSession, wanted: Mapping[Key, FetchPartition], gone: Iterable[Key]
) -> None:
    # Kafka: FetchSession.update.
    for key, partition in wanted.items():
        known = session.partitions.setdefault(key, partition)
        if known is not partition:
            known.want(partition.wanted)
    for key in gone:
        session.partitions.pop(key, None)


def _is_follower(body: Any) -> bool:
    state = getattr(body, "replica_state", body)
    return bool(state.replica_id >= 0)


def _after(epoch: int) -> int:
    # Kafka: FetchMetadata.nextEpoch.
    return 1 if epoch == LAST_EPOCH else epoch + 1
