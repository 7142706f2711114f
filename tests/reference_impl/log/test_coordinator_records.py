"""Records of internal topics have Kafka's formats; what Kafka 4.3 wrote is read unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from checkers.log_dirs.coordinator import coordinated
from checkers.log_dirs.folders import log_dirs
from model.vocabulary import LeaderEpoch, Offset, ProducerEpoch, ProducerId, TopicPartition
from reference_impl.groups import consumer_group_log
from reference_impl.groups import offsets as group_offsets
from reference_impl.groups.classic_group import ClassicGroup, GroupState, Member
from reference_impl.groups.consumer_group import ConsumerGroup, ConsumerMember, MemberState
from reference_impl.log.consecutive_batches import batches
from reference_impl.log.coordinator_records import (
    CURRENT,
    SCHEMAS,
    Entry,
    decoded,
    encoded,
)
from reference_impl.log.record import Record
from reference_impl.log.record_batch import decode, header
from reference_impl.protocol.groups import CommittedOffset
from reference_impl.protocol.topic_id import topic_id
from reference_impl.protocol.transactions import TransactionVersion
from reference_impl.transactions.metadata import TransactionMetadata, TxnState
from tests.reference_impl.transactions.one_coordinator import logged

KAFKA = Path(__file__).parents[2] / "data" / "apache_kafka"
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def records_of_kafka() -> Iterator[Record]:
    for folder in ("log_dirs_stopped", "log_dirs_compacted"):
        for file in sorted((KAFKA / folder / "broker-1").glob("__*/*.log")):
            for batch in batches(file.read_bytes()):
                if not header(batch).is_control:
                    yield from (record for _, record in decode(batch))


def test_records_that_kafka_wrote_are_read_and_written_with_the_same_bytes() -> None:
    kinds: set[Any] = set()
    for record in records_of_kafka():
        entry = decoded(record.key or b"", record.value)
        assert entry is not None
        assert encoded(entry, topic_id) == (record.key, record.value)
        kinds.add(entry.key[0])
    assert kinds == {"offset", "transaction"}


def test_the_transactional_ids_of_kafka_have_their_metadata() -> None:
    read = [decoded(record.key or b"", record.value) for record in records_of_kafka()]
    known = [TransactionMetadata.of(one) for one in read if one and one.key[0] == "transaction"]
    for one in known:
        ordered = replace(one, topic_partitions=tuple(sorted(one.topic_partitions)))
        assert TransactionMetadata.of(one.entry()) == ordered
    prepared = next(one for one in known if one.state is TxnState.PREPARE_ABORT)
    assert prepared.topic_partitions == (TopicPartition("payments", 0),)
    versions = {one.version for one in known}
    assert versions == {TransactionVersion.V1, TransactionVersion.V2}


OFFSET = group_offsets.entry(
    "g", A1, CommittedOffset(offset=Offset(7), leader_epoch=LeaderEpoch(2), metadata="m"), 1_000
)
CLASSIC = ClassicGroup(
    group="g",
    state=GroupState.STABLE,
    generation=3,
    protocol_type="consumer",
    protocol="range",
    leader="m-1",
    members={
        "m-1": Member(
            member_id="m-1",
            instance_id="i",
            session_timeout_ms=10,
            rebalance_timeout_ms=20,
            protocols=(("range", b"r"),),
            last_heartbeat_ms=50,
            client_id="c",
            assignment=b"a",
        )
    },
)
CONSUMER = ConsumerGroup(
    group="g",
    epoch=4,
    topics={"a": 2, "b": 1},
    assignment_epoch=3,
    assigned_ms=900,
    target={"m": frozenset({A0, A1}), "n": frozenset({B0})},
    members={
        "m": ConsumerMember(
            member_id="m",
            topics=("a", "b"),
            regex="[ab]",
            matched=("a", "b"),
            assignor="uniform",
            epoch=3,
            previous_epoch=2,
            state=MemberState.UNREVOKED,
            assigned={A0: 1, A1: 3},
            revoking={B0: 2},
        )
    },
    partition_epochs={A0: 3, A1: 3, B0: 3},
)


def again(entry: Entry) -> Entry:
    """Encodes the entry, and returns what is decoded from the bytes."""
    read = decoded(*encoded(entry, topic_id))
    assert read is not None
    return read


def test_a_committed_offset_is_read_back() -> None:
    assert again(OFFSET) == OFFSET._replace(value={**(OFFSET.value or {}), "topic_id": None})
    tombstone = group_offsets.tombstone("g", A1)
    assert again(tombstone) == tombstone
    assert encoded(tombstone, topic_id) == (
        b"\x00\x01\x00\x01g\x00\x01a\x00\x00\x00\x01",
        None,
    )


def test_a_classic_group_is_read_back_with_members_and_without() -> None:
    assert ClassicGroup.of(again(CLASSIC.entry(now_ms=40)), now_ms=50) == CLASSIC
    empty = ClassicGroup(group="g", generation=4, protocol_type="consumer", empty_since_ms=30)
    assert ClassicGroup.of(again(empty.entry(now_ms=40)), now_ms=50) == empty
    assert again(CLASSIC.tombstone()) == CLASSIC.tombstone()


def test_a_consumer_group_is_read_back() -> None:
    entries = consumer_group_log.entries(ConsumerGroup(group="g"), CONSUMER)
    group = ConsumerGroup(group="g")
    for entry in entries:
        group = consumer_group_log.replayed(group, again(entry))
    assert group == CONSUMER
    for entry in consumer_group_log.tombstones(CONSUMER):
        group = consumer_group_log.replayed(group, again(entry))
    assert group == ConsumerGroup(group="g")


def test_the_topics_that_a_regex_matches_are_a_tagged_array_of_strings() -> None:
    key = b"\x00\x05\x00\x01g\x00\x01m"
    of_member = b"\x00" * 4 + b"\x01" + b"\x00" * 6  # one array is empty, the rest is null or 0
    topics = b"\x01\xe8\x07\x05" + b"\x03\x02a\x02b"
    found: Any = decoded(key, b"\x00\x00" + of_member + topics)
    assert found.value["matched_topics"] == ["a", "b"]


def test_partitions_have_the_id_of_their_topic() -> None:
    entries = consumer_group_log.entries(ConsumerGroup(group="g"), CONSUMER)
    current: Any = next(again(entry).value for entry in entries if entry.key[0] == CURRENT)
    first, *_ = current["assigned_partitions"]
    assert first["topic_id"] == topic_id("a")
    data = encoded(entries[-1], lambda _: UUID(int=5))[1]
    assert data is not None
    assert UUID(int=5).bytes in data


def test_transactional_ids_read_as_kafkas_by_the_audit_of_log_directories(tmp_path: Path) -> None:
    known = TransactionMetadata(
        transactional_id="t",
        producer_id=ProducerId(7),
        timeout_ms=60_000,
        producer_epoch=ProducerEpoch(3),
        last_producer_epoch=ProducerEpoch(2),
        state=TxnState.ONGOING,
        topic_partitions=(A0, A1, B0),
        started_ms=5,
        updated_ms=6,
        version=TransactionVersion.V2,
    )
    folder = tmp_path / "broker-1" / "__transaction_state-0"
    folder.mkdir(parents=True)
    data = b"".join(batch.data for batch in logged(known.entry()).batches())
    (folder / "00000000000000000000.log").write_bytes(data)
    (found,) = coordinated(log_dirs([tmp_path / "broker-1"]))
    assert (found.transactional_id, found.state) == ("t", "Ongoing")
    assert found.partitions == ("a-0", "a-1", "b-0")
    assert replace(known, producer_epoch=ProducerEpoch(4)).entry() != known.entry()


def test_a_record_of_an_unknown_type_is_left_out() -> None:
    assert decoded(b"\x00\x63", b"") is None, "as Kafka skips it"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", b""),
        (b"\x00\x01\x00\x05g", b""),
        (b"\x00\x02\x00\x01g", b""),
        (b"\x00\x02\x00\x01g", b"\x00\x09"),
        (b"\x00\x02\x00\x01g", b"\x00\x03\x00"),
    ],
    ids=["no type", "short key", "no version", "unknown version", "short value"],
)
def test_a_malformed_record_is_refused(key: bytes, value: bytes) -> None:
    with pytest.raises(ValueError, match=r"malformed|has version 9"):
        decoded(key, value)


# Tagged fields of Kafka have the tags and defaults of its message definitions; ours higher tags.
TAGGED: dict[tuple[str, str], tuple[int, object]] = {
    ("offset", "topic_id"): (0, None),
    ("transaction", "previous_producer_id"): (0, -1),
    ("transaction", "next_producer_id"): (1, -1),
    ("transaction", "client_transaction_version"): (2, 0),
    ("transaction", "next_producer_epoch"): (3, -1),
    ("transaction", "last_producer_epoch"): (1_000, -1),
    ("consumer-group-metadata", "metadata_hash"): (0, 0),
    ("consumer-group-metadata", "topics"): (1_000, []),
    ("consumer-group-metadata", "empty_since_ms"): (1_001, -1),
    ("consumer-group-member-metadata", "matched_topics"): (1_000, []),
    ("consumer-group-target-assignment-metadata", "assignment_timestamp"): (0, 0),
}


def test_a_tagged_field_has_the_tag_and_the_default_of_kafka_or_a_tag_of_our_own() -> None:
    assert {
        (kind, field.name): (field.tag, field.default)
        for kind, schema in SCHEMAS.items()
        for field in schema.value
        if field.tag is not None
    } == TAGGED
