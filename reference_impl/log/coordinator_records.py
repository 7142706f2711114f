"""The records of the internal topics, in the formats of Kafka 4.3. A record's key and value have
these bytes:

    key     int16 type     the fields of the key, in order
    value   int16 version  the fields of the value; a tombstone has no value

An `Entry` is a record in Python. Its key is a list of the type's name and the fields of Kafka's
key, such as `["offset", "my-group", "t", 0]`. Its value has the field names of Kafka's schema, in
snake case. Tagged fields with a number from 1000 on do not exist in Kafka, and Kafka's readers skip
them.

Source: TransactionLogKey, TransactionLogValue, OffsetCommitKey, OffsetCommitValue,
GroupMetadataKey, GroupMetadataValue, and the keys and values of ConsumerGroup records;
CoordinatorRecordType, GroupCoordinatorRecordHelpers and TransactionLog of Kafka.
Simplified: records have only the versions that Kafka 4.3 writes. Records of offsets have no topic
id. Records of groups have the topics themselves (tag 1000), and no hash of the topics' metadata.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple
from uuid import UUID

from reference_impl.log.message_schema import Field, Fields, Plain, read, written

TRANSACTION: Final = "transaction"
OFFSET: Final = "offset"
GROUP: Final = "group"
# The types of the records of KIP-848 have its names, in lower case.
CONSUMER_GROUP: Final = "consumer-group-metadata"
MEMBER: Final = "consumer-group-member-metadata"
TARGET_EPOCH: Final = "consumer-group-target-assignment-metadata"
TARGET: Final = "consumer-group-target-assignment-member"
CURRENT: Final = "consumer-group-current-member-assignment"


class Entry(NamedTuple):
    """A record of an internal topic. The record is a tombstone if its value is None."""

    key: list[Plain]
    value: dict[str, Plain] | None


class Schema(NamedTuple):
    """The formats of one kind of record. If `flexible` is True, the value has the flexible format
    (KIP-482). The key never has this format.
    """

    type: int
    key: Fields
    version: int
    value: Fields
    flexible: bool = True


_GROUP: Final = Field("group_id", "string")
_MEMBER: Final = Field("member_id", "string")
_OWN: Final = 1_000  # the first tag that is not Kafka's
_PARTITIONS: Final = (
    Field("topic_id", "uuid"),
    Field("partitions", "int32", many=True),
    Field("assignment_epochs", "int32", tag=0, many=True),
    Field("topic", "string", tag=_OWN),
)
_TOPICS: Final = (Field("topic", "string"), Field("partition_ids", "int32", many=True))
_CLASSIC_MEMBER: Final = (
    Field("member_id", "string"),
    Field("group_instance_id", "string"),
    Field("client_id", "string"),
    Field("client_host", "string"),
    Field("rebalance_timeout", "int32"),
    Field("session_timeout", "int32"),
    Field("subscription", "bytes"),
    Field("assignment", "bytes"),
)
SCHEMAS: Final[Mapping[str, Schema]] = {
    TRANSACTION: Schema(
        0,
        (Field("transactional_id", "string"),),
        1,
        (
            Field("producer_id", "int64"),
            Field("previous_producer_id", "int64", tag=0, default=-1),
            Field("next_producer_id", "int64", tag=1, default=-1),
            Field("producer_epoch", "int16"),
            Field("transaction_timeout_ms", "int32"),
            Field("transaction_status", "int8"),
            Field("transaction_partitions", _TOPICS, many=True),
            Field("transaction_last_update_timestamp_ms", "int64"),
            Field("transaction_start_timestamp_ms", "int64"),
            Field("client_transaction_version", "int16", tag=2, default=0),
            Field("next_producer_epoch", "int16", tag=3, default=-1),
            Field("last_producer_epoch", "int16", tag=_OWN, default=-1),
        ),
    ),
    OFFSET: Schema(
        1,
        (_GROUP, Field("topic", "string"), Field("partition", "int32")),
        4,
        (
            Field("offset", "int64"),
            Field("leader_epoch", "int32"),
            Field("metadata", "string"),
            Field("commit_timestamp", "int64"),
            Field("topic_id", "uuid", tag=0),
        ),
    ),
    GROUP: Schema(
        2,
        (_GROUP,),
        3,
        (
            Field("protocol_type", "string"),
            Field("generation", "int32"),
            Field("protocol", "string"),
            Field("leader", "string"),
            Field("current_state_timestamp", "int64"),
            Field("members", _CLASSIC_MEMBER, many=True),
        ),
        flexible=False,
    ),
    CONSUMER_GROUP: Schema(
        3,
        (_GROUP,),
        0,
        (
            Field("epoch", "int32"),
            Field("metadata_hash", "int64", tag=0, default=0),
            Field(
                "topics",
                (Field("topic", "string"), Field("partitions", "int32")),
                tag=_OWN,
                default=[],
                many=True,
            ),
            Field("empty_since_ms", "int64", tag=_OWN + 1, default=-1),
        ),
    ),
    MEMBER: Schema(
        5,
        (_GROUP, _MEMBER),
        0,
        (
            Field("instance_id", "string"),
            Field("rack_id", "string"),
            Field("client_id", "string"),
            Field("client_host", "string"),
            Field("subscribed_topic_names", "string", many=True),
            Field("subscribed_topic_regex", "string"),
            Field("rebalance_timeout_ms", "int32"),
            Field("server_assignor", "string"),
            Field("matched_topics", "string", tag=_OWN, default=[], many=True),
        ),
    ),
    TARGET_EPOCH: Schema(
        6,
        (_GROUP,),
        0,
        (
            Field("assignment_epoch", "int32"),
            Field("assignment_timestamp", "int64", tag=0, default=0),
        ),
    ),
    TARGET: Schema(7, (_GROUP, _MEMBER), 0, (Field("topic_partitions", _PARTITIONS, many=True),)),
    CURRENT: Schema(
        8,
        (_GROUP, _MEMBER),
        0,
        (
            Field("member_epoch", "int32"),
            Field("previous_member_epoch", "int32"),
            Field("state", "int8"),
            Field("assigned_partitions", _PARTITIONS, many=True),
            Field("partitions_pending_revocation", _PARTITIONS, many=True),
        ),
    ),
}
_KINDS: Final = {schema.type: kind for kind, schema in SCHEMAS.items()}
_INT16: Final = struct.Struct(">h")


def encoded(entry: Entry, topic_id: Callable[[str], UUID]) -> tuple[bytes, bytes | None]:
    """Returns the bytes of the record's key and value. For a tombstone, None is returned instead of
    the value's bytes.

    `topic_id` returns the id of a topic, by the topic's name.
    """
    kind, *names = entry.key
    schema = SCHEMAS[str(kind)]
    fields = {field.name: name for field, name in zip(schema.key, names, strict=True)}
    key = _INT16.pack(schema.type) + written(schema.key, fields, flexible=False)
    if entry.value is None:
        return key, None
    value = {name: _with_topic_ids(content, topic_id) for name, content in entry.value.items()}
    data = written(schema.value, value, flexible=schema.flexible)
    return key, _INT16.pack(schema.version) + data


def decoded(key: bytes, value: bytes | None) -> Entry | None:
    """Returns the record with these bytes. Returns None if the type of the record is not in
    `SCHEMAS`. Raises ValueError if the record is malformed.
    """
    try:
        (number,) = _INT16.unpack_from(key)
        kind = _KINDS.get(number)
        if kind is None:
            return None
        schema = SCHEMAS[kind]
        names, _ = read(schema.key, key, _INT16.size, flexible=False)
        whole: list[Plain] = [kind, *names.values()]
        if value is None:
            return Entry(whole, None)
        (version,) = _INT16.unpack_from(value)
        if version != schema.version:
            raise ValueError(f"the value of {whole} has version {version}")
        message, _ = read(schema.value, value, _INT16.size, flexible=schema.flexible)
    except (struct.error, IndexError) as fault:
        raise ValueError(f"the record with the key {key.hex()} is malformed: {fault}") from fault
    return Entry(whole, message)


def _with_topic_ids(content: Plain, topic_id: Callable[[str], UUID]) -> Plain:
    # Adds topic ids to structs with partitions, because an entry has only the topic's name.
    if not isinstance(content, list):
        return content
    return [
        {**item, "topic_id": topic_id(str(item["topic"]))}
        if isinstance(item, dict) and "topic" in item
        else item
        for item in content
    ]
