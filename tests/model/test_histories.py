"""The table that every engine reads: its columns are as documented and hold any operation."""

from __future__ import annotations

from typing import get_args

from model.histories import COLUMNS, NEW_IN_2, MicroOperation, Operation, topic_of


def test_every_column_has_a_type_a_nullness_and_a_meaning() -> None:
    assert {kind for kind, _, _ in COLUMNS.values()} == {"int64", "int32", "string"}
    assert all(meaning for _, _, meaning in COLUMNS.values())


def test_what_can_be_unknown_can_be_null() -> None:
    nullable = {name for name, (_, may_be_null, _) in COLUMNS.items() if may_be_null}
    assert nullable == {"completed_ns", "key", "offset", "value", "error", *NEW_IN_2}


def test_a_column_stands_for_each_field_of_an_operation_but_what_it_did() -> None:
    assert set(Operation.__dataclass_fields__) - {"did"} <= set(COLUMNS)


def test_a_column_stands_for_each_field_of_a_micro_operation() -> None:
    fields = {name for micro in get_args(MicroOperation) for name in micro.__dataclass_fields__}
    assert fields == {"key", "value", "offset"}
    assert fields <= set(COLUMNS)


def test_a_key_names_a_topic_partition_or_is_one_of_a_nameless_topic() -> None:
    assert topic_of("orders-by-day-0") == topic_of("orders-by-day-17") == "orders-by-day"
    assert topic_of("17") == topic_of("k") == topic_of("a-b") == topic_of(":k") == ""
