"""Builds responses that contain a Kafka error, for the fault `error`.

Each line names a function and the response that it returns:

    refusal       the response to a request that is not applied
    with_error    the response to a request that was applied, with the error added

The error is placed where Kafka reports it: at each partition, topic, group or resource that the
request names, or else at the whole response. An error of a fetch session or of a whole group is
reported one time. A Metadata response still lists its brokers.

Source: AbstractRequest.getErrorResponse and its overrides.
Simplified: The error is reported at one level of the response. In Kafka, Fetch and some other
responses contain the error at the whole response as well as at its parts.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, get_args, get_type_hints

from reference_impl.wire.messages.adapter import Call, payload
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.kio_schemas import (
    EntityType,
    KioErrorCode,
    entity_reader,
    entity_writer,
)

ERROR: Final = ("error_code", "partition_error_code")
# Requests whose errors stand at the group or the session, except these, which stand at its parts.
OF_PARTS: Final[Mapping[Api, frozenset[str]]] = {
    Api.OFFSET_FETCH: frozenset(
        {"UNSTABLE_OFFSET_COMMIT", "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID",
         "TOPIC_AUTHORIZATION_FAILED"}
    ),
    Api.LEAVE_GROUP: frozenset({"UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"}),
}  # fmt: skip
OF_SESSION: Final = "FETCH_SESSION"  # part of the names of errors of fetch sessions
_LENGTH: Final = struct.Struct(">i")
_CORRELATION_ID: Final = struct.Struct(">i")
# A part of a response names what a part of the request names by another field.
_SAME: Final = (
    ("partition_index", "index", "partition", "partition_id"),
    ("name", "topic", "topic_name"),
    ("group_id", "key"),
)
_IDENTITY: Final = frozenset(
    {"topic_id", "resource_type", "resource_name", "member_id", "transactional_id"}
)
_ZERO: Final = frozenset({"session_id"})
# By Kafka's type; a number is -1, as in Kafka's own responses.
_EMPTY: Final[Mapping[str, Any]] = {
    "string": "",
    "bytes": b"",
    "bool": False,
    "error_code": KioErrorCode.none,
    "timedelta_i32": timedelta(0),
    "timedelta_i64": timedelta(0),
    "datetime_i64": datetime.fromtimestamp(0, UTC),
}


def refusal(call: Call, error: str) -> bytes:
    """Returns the frame of the response to a request that gets the error `error` and is not
    applied.
    """
    kind = payload(call.api, call.version, EntityType.response)[1]
    blank = _blank(kind, call.body)
    return _written(call, _with_error(call.api, blank, KioErrorCode[error.lower()]))


def with_error(call: Call, frame: bytes, error: str) -> bytes:
    """Returns the response `frame` with the error added where Kafka reports it."""
    entity = response_in(call, frame)
    return _written(call, _with_error(call.api, entity, KioErrorCode[error.lower()]))


def response_in(call: Call, frame: bytes) -> Any:
    """Returns the decoded response of a frame. The frame includes the four bytes of its length."""
    kind = payload(call.api, call.version, EntityType.response)[1]
    _, size = entity_reader(kind.__header_schema__)(frame, _LENGTH.size)
    if call.api is Api.API_VERSIONS:
        size = _CORRELATION_ID.size  # its header always has version 0
    entity, _ = entity_reader(kind)(frame, _LENGTH.size + size)
    return entity


def _written(call: Call, entity: Any) -> bytes:
    out = io.BytesIO()
    header = type(entity).__header_schema__
    entity_writer(header)(out, header(correlation_id=call.correlation_id))
    entity_writer(type(entity))(out, entity)
    written = out.getvalue()
    return _LENGTH.pack(len(written)) + written


# ---------------------------------------------------------------- where the error stands


def _with_error(api: Api, entity: Any, error: KioErrorCode) -> Any:
    if api is Api.METADATA:
        entity = replace(entity, topics=tuple(replace(one, partitions=()) for one in entity.topics))
    if _is_outside(api, error.name.upper()):
        return _marked_outside(entity, error)
    return _marked(entity, error)


def _is_outside(api: Api, error: str) -> bool:
    if api is Api.FETCH:
        return OF_SESSION in error
    return api in OF_PARTS and error not in OF_PARTS[api]


def _marked_outside(entity: Any, error: KioErrorCode) -> Any:
    """Returns the response with the error at the outermost level that has an error field."""
    reported = [each.name for each in fields(entity) if _is_reported(each, type(entity))]
    if hasattr(entity, ERROR[0]):
        return replace(entity, error_code=error, **dict.fromkeys(reported, ()))
    parts = {
        name: tuple(_marked_outside(p, error) for p in getattr(entity, name)) for name in reported
    }
    return replace(entity, **parts)


def _marked(entity: Any, error: KioErrorCode) -> Any:
    """Returns the response with the error in each innermost entry, such as a partition."""
    parts = {
        each.name: tuple(_marked(one, error) for one in getattr(entity, each.name))
        for each in fields(entity)
        if _is_reported(each, type(entity)) and getattr(entity, each.name)
    }
    if parts:
        return replace(entity, **parts)
    own = {name: error for name in ERROR if hasattr(entity, name)}
    return replace(entity, **own)


def _is_reported(each: Field[Any], kind: type[Any]) -> bool:
    part = _part(kind, each.name)
    return part is not None and _can_fail(part)


def _can_fail(kind: Any) -> bool:
    return any(
        each.name in ERROR or ((part := _part(kind, each.name)) is not None and _can_fail(part))
        for each in fields(kind)
    )


def _part(kind: Any, name: str) -> Any:
    """Returns the class of the elements if the field `name` is an array of dataclasses.
    Otherwise returns None.
    """
    hint = get_type_hints(kind, vars(__import__(kind.__module__, fromlist=["_"])))[name]
    for one in (hint, *get_args(hint)):
        inside = get_args(one)
        if inside and inside[-1] is ... and is_dataclass(inside[0]):
            return inside[0]
    return None


# ---------------------------------------------------------------- a response from its request


def _blank(kind: Any, asked: Any) -> Any:
    """Returns an empty response that lists the topics, partitions or groups of the request
    `asked`.
    """
    values: dict[str, Any] = {}
    for each in fields(kind):
        part = _part(kind, each.name)
        if part is not None and _can_fail(part):
            values[each.name] = tuple(_blank(part, one) for one in _parts(asked))
        elif (named := _named(each.name, asked)) is not MISSING:
            values[each.name] = named
        elif each.default is MISSING and each.default_factory is MISSING:
            values[each.name] = _empty(each)
    return kind(**values)


def _parts(asked: Any) -> tuple[Any, ...]:
    if not is_dataclass(asked):
        return ()
    arrays = (getattr(asked, each.name) for each in fields(asked))
    return next((one for one in arrays if isinstance(one, tuple) and one), ())


def _named(name: str, asked: Any) -> Any:
    if not is_dataclass(asked):
        return asked if any(name in same for same in _SAME) else MISSING
    same = next((names for names in _SAME if name in names), (name,))
    identifies = len(same) > 1 or name in _IDENTITY
    for other in (name, *same):
        if identifies and hasattr(asked, other):
            return getattr(asked, other)
    return MISSING


def _empty(each: Field[Any]) -> Any:
    hint, kind = str(each.type), str(each.metadata.get("kafka_type"))
    if "tuple" in hint:
        return ()
    if "None" in hint:
        return None
    return _EMPTY.get(kind, 0 if each.name in _ZERO else -1)
