"""Every message between nodes survives its encoding; other bytes are refused."""

from __future__ import annotations

import random
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from model.vocabulary import BrokerId, LeaderEpoch, PartitionEpoch, TopicPartition
from reference_impl.node.step import RequestReceived, ResponseReceived
from reference_impl.protocol.controller import MetadataImage, PartitionState, UpdateMetadata
from reference_impl.protocol.messages import ErrorCode, Fetched, NodeId, Produce
from reference_impl.protocol.record_facts import RecordFacts
from reference_impl.wire.nodes.encoding import (
    REQUESTS,
    RESPONSES,
    Decoder,
    Encoder,
    MalformedMessage,
    Message,
)

TWO = NodeId(2)
ORDERS = TopicPartition("orders", 0)
STATE = PartitionState(
    replicas=(BrokerId(1), BrokerId(2)),
    isr=(BrokerId(1),),
    leader=BrokerId(1),
    leader_epoch=LeaderEpoch(3),
    partition_epoch=PartitionEpoch(4),
)


def sample(of: Any, number: int) -> Any:
    """Returns a value of the type `of`. If `number` is 0, optional values are None, and tuples are
    empty.
    """
    while hasattr(of, "__supertype__"):
        of = of.__supertype__
    origin, args = get_origin(of), get_args(of)
    if of in {int, str, bool, float, bytes}:
        return {int: -number, str: "ä" * number, bool: True, float: 0.5, bytes: b"\xff\0" * number}[
            of
        ]
    if origin in {Union, types.UnionType}:
        present = [arg for arg in args if arg is not types.NoneType]
        return None if number == 0 or len(present) > 1 else sample(present[0], number)
    if origin in {tuple, frozenset} and (origin is frozenset or args[-1] is Ellipsis):
        return origin(sample(args[0], one + 1) for one in range(number))
    if origin is tuple:
        return tuple(sample(arg, number) for arg in args)
    if origin is not None and issubclass(origin, Mapping):
        return {sample(args[0], one): sample(args[1], one) for one in range(number)}
    if issubclass(of, Enum):
        return [*of][-1]
    hints = get_type_hints(of)
    return of(**{name: sample(hints[name], number) for name in _names(of, hints)})


def _names(of: Any, hints: Mapping[str, Any]) -> list[str]:
    return [field.name for field in fields(of)] if is_dataclass(of) else [*hints]


def message(kind: type[Any], number: int) -> Message:
    content = sample(kind, number)
    if kind.__name__ in REQUESTS:
        return RequestReceived(TWO, 1 << 40, content)
    return ResponseReceived(TWO, 7, content)


@pytest.mark.parametrize("number", [0, 2])
@pytest.mark.parametrize("name", [*REQUESTS, *RESPONSES])
def test_every_message_is_the_same_after_its_encoding(name: str, number: int) -> None:
    sent = message({**REQUESTS, **RESPONSES}[name], number)
    assert Decoder(TWO).decode(Encoder().encode(sent)) == sent


def test_the_scan_of_a_batch_stays_at_its_broker() -> None:
    facts = RecordFacts(max_timestamp_ms=1, lacks_keys=False, is_in_sequence=True)
    produce = Produce(topic_partition=ORDERS, batches=b"x", scanned=facts)
    sent = Encoder().encode(RequestReceived(TWO, 1, produce))
    received = Decoder(TWO).decode(sent)
    assert isinstance(received, RequestReceived)
    assert received.request == replace(produce, scanned=None)


def updated(image: MetadataImage) -> RequestReceived:
    return RequestReceived(TWO, 1, UpdateMetadata(image=image))


def test_metadata_are_changes_and_unchanged_partitions_stay_the_same_objects() -> None:
    places = tuple((TopicPartition("orders", index), STATE) for index in range(100))
    first = MetadataImage(version=1, topic_partitions=places)
    moved = replace(STATE, leader=BrokerId(2))
    second = replace(first, version=2, topic_partitions=(*places[:-1], (places[-1][0], moved)))
    third = replace(second, version=3, topic_partitions=second.topic_partitions[1:])
    encoder, decoder = Encoder(), Decoder(TWO)
    sent = [encoder.encode(updated(image)) for image in (first, second, third)]
    assert len(sent[1]) < len(sent[0]) / 20
    images: list[MetadataImage] = []
    for data in sent:
        received = decoder.decode(data)
        assert isinstance(received, RequestReceived)
        assert isinstance(received.request, UpdateMetadata)
        images.append(received.request.image)
    assert images == [first, second, third]
    for before, after in zip(
        images[0].topic_partitions[1:-1], images[2].topic_partitions[:-1], strict=True
    ):
        assert before[1] is after[1]


def test_a_change_of_an_unknown_image_is_refused() -> None:
    encoder = Encoder()
    encoder.encode(updated(MetadataImage(version=1, topic_partitions=((ORDERS, STATE),))))
    deleted = encoder.encode(updated(MetadataImage(version=2)))
    with pytest.raises(MalformedMessage, match="orders"):
        Decoder(TWO).decode(deleted)


def test_other_bytes_are_refused() -> None:
    data = Encoder().encode(ResponseReceived(TWO, 5, Fetched(topic_partition=ORDERS, batches=b"x")))
    for end in range(len(data)):
        with pytest.raises(MalformedMessage):
            Decoder(TWO).decode(data[:end])
    for other in (
        data + b"y",
        data.replace(b"Fetched", b"fetched"),
        data.replace(b"[false", b"[true "),
        data.replace(b"false,5", b"false,{"),
        data.replace(b'"orders"', b"12345678"),
        data.replace(b'"orders",0', b'"orders",[]'),
    ):
        with pytest.raises(MalformedMessage):
            Decoder(TWO).decode(other)


def test_changed_bytes_are_a_message_or_are_refused() -> None:
    chosen = random.Random(1)
    sent = message(Fetched, 2)
    data = Encoder().encode(sent)
    refused = 0
    for _ in range(2_000):
        changed = bytearray(data)
        changed[chosen.randrange(len(data))] = chosen.randrange(256)
        try:
            received = Decoder(TWO).decode(bytes(changed))
        except MalformedMessage:
            refused += 1
        else:
            assert isinstance(received, ResponseReceived)
            assert isinstance(received.response, Fetched)
            assert isinstance(received.response.error, ErrorCode)
    assert refused > 500
