"""Adds to a fetch request the partitions that it reads but does not name.

An incremental fetch request names few partitions or none. But fault rules apply to all partitions
of its fetch session.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reference_impl.wire.messages.adapter import Call, parts
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.kio_schemas import EntityType
from reference_impl.wire.requests.broker.fetch_sessions import FetchSessions


def with_session_partitions(call: Call, sessions: FetchSessions) -> Call:
    """Returns a Fetch request with the partitions of its fetch session added. Returns any other
    request unchanged.
    """
    if call.api is not Api.FETCH:
        return call
    topics: dict[Any, list[Any]] = {}
    for one in sessions.unnamed_partitions(call.body):
        topics.setdefault(one.topic_id or one.name, []).append(one.wanted)
    if not topics:
        return call
    kind, takes = parts(call.api, call.version, EntityType.request)["FetchTopic"]
    field = "topic_id" if "topic_id" in takes else "topic"
    more = (kind(**{field: topic, "partitions": tuple(wanted)}) for topic, wanted in topics.items())
    return replace(call, body=replace(call.body, topics=(*call.body.topics, *more)))
