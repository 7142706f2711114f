"""The documented table of a history has one column for each field of an operation."""

from __future__ import annotations

from typing import get_args

from model.histories import COLUMNS, NEW_IN_2, MicroOperation, Operation, topic_of


def test_every_column_has_a_type_a_nullness_and_a_meaning() -> None:
    assert {kind for kind, _, _ in COLUMNS.values()} == {"int64", "int32", "string"}
    assert all(meaning for _, _, meaning in COLUMNS.values())


def test_columns_of_optional_fields_are_nullable() -> None:
    nullable = {name for name, (_, may_be_null, _) in COLUMNS.items() if may_be_null}
    assert nullable == {"completed_ns", "key", "offset", "value", "error", *NEW_IN_2}


def test_every_field_of_an_operation_has_a_column_except_its_micro_operations() -> None:
    assert set(Operation.__dataclass_fields__) - {"did"} <= set(COLUMNS)


def test_every_field_of_a_micro_operation_has_a_column() -> None:
    fields = {name for micro in get_args(MicroOperation) for name in micro.__dataclass_fields__}
    assert fields == {"key", "value", "offset"}
    assert fields <= set(COLUMNS)


def test_topic_of_a_key_is_its_name_or_empty() -> None:
    assert topic_of("orders-by-day-0") == topic_of("orders-by-day-17") == "orders-by-day"
    assert topic_of("17") == topic_of("k") == topic_of("a-b") == topic_of(":k") == ""
