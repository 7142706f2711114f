"""A damaged batch has the damage that its name says. Its checksum is valid, unless the damage is a
wrong checksum.
"""

from __future__ import annotations

import pytest

from checkers.conform.batches import DAMAGES, batch
from reference_impl.log.record_batch import CorruptBatch, decode, header, verified

PLAIN = {"records": 2, "timestamp": 1000, "key": "k", "pad": 3}


def test_a_batch_has_the_described_records() -> None:
    made = batch({**PLAIN, "producer_id": 7, "producer_epoch": 1, "base_sequence": 4})
    head = verified(made)
    assert (head.producer_id, head.producer_epoch, head.base_sequence) == (7, 1, 4)
    assert [(record.key, record.value, record.timestamp_ms) for _, record in decode(made)] == [
        (b"k", b"v0xxx", 1000),
        (b"k", b"v1xxx", 1001),
    ]


def test_a_batch_without_records_has_no_bytes() -> None:
    assert batch({"records": 0}) == b""


@pytest.mark.parametrize("damage", DAMAGES)
def test_each_damage_changes_the_batch(damage: str) -> None:
    assert batch({**PLAIN, "damage": damage}) != batch(PLAIN)


@pytest.mark.parametrize("damage", ["wrong checksum", "cut short", "magic 1", "magic 3"])
def test_some_damage_makes_the_batch_unreadable(damage: str) -> None:
    with pytest.raises(CorruptBatch):
        verified(batch({**PLAIN, "damage": damage}))


@pytest.mark.parametrize(
    ("damage", "field", "value"),
    [
        ("last offset delta 99", "last_offset_delta", 99),
        ("record count 99", "record_count", 99),
        ("control bit", "is_control", True),
        ("base offset 77", "base_offset", 77),
    ],
)
def test_other_damage_is_in_one_field(damage: str, field: str, value: int) -> None:
    assert getattr(header(batch({**PLAIN, "damage": damage})), field) == value
