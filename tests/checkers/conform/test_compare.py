"""Every kind of difference between two answers is reported with its field."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.conform.compare import ABSENT, differences
from checkers.conform.connection import CLOSED, SILENT
from checkers.conform.steps import Send
from reference_impl.wire.messages.apis import Api

SEND = Send(api=Api.FETCH, version=12, body={}, to="any", note="whole")


def found(system: Any, reference: Any) -> list[tuple[str, Any, Any]]:
    return [(one.field, one.system, one.reference) for one in differences(SEND, system, reference)]


def test_equal_answers_have_no_difference() -> None:
    answer = {"topics": [{"name": "a", "error_code": "NONE"}]}
    assert found(answer, answer) == []
    assert found(CLOSED, CLOSED) == []


@pytest.mark.parametrize(
    ("system", "reference", "expected"),
    [
        ({"error_code": "NONE"}, {"error_code": "FENCED"}, [("error_code", "NONE", "FENCED")]),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, [("a.b", 1, 2)]),
        ({"a": [{"b": 1}, {"b": 3}]}, {"a": [{"b": 1}, {"b": 4}]}, [("a.b", 3, 4)]),
        ({"a": [1, 2]}, {"a": [1]}, [("a (count)", 2, 1)]),
        ({"a": None}, {"a": []}, [("a", None, [])]),
        ({"a": 1, "b": 2}, {"a": 1}, [("b", 2, ABSENT)]),
        ({"a": 1}, {"a": True}, []),
        (CLOSED, {"a": 1}, [("", CLOSED, {"a": 1})]),
        (SILENT, CLOSED, [("", SILENT, CLOSED)]),
        (
            {"a": [{"name": "x"}, {"name": "y"}]},
            {"a": [{"name": "y"}]},
            [("a.x", "(present)", ABSENT)],
        ),
    ],
)
def test_a_difference_is_found_at_its_field(
    system: Any, reference: Any, expected: list[tuple[str, Any, Any]]
) -> None:
    assert found(system, reference) == expected


def test_a_difference_has_the_fields_around_it() -> None:
    (one,) = differences(
        SEND,
        {"p": [{"error_code": "A", "offset": -1}]},
        {"p": [{"error_code": "A", "offset": 4}]},
    )
    assert (one.system_fields["error_code"], one.reference_fields["offset"]) == ("A", 4)
    assert str(one) == "FETCH v12 (whole): p.offset is -1, of the reference broker 4"


def test_members_with_drawn_ids_are_compared_by_their_other_fields() -> None:
    one, other = {"member_id": "member 1", "topics": ["a"]}, {"member_id": "member 2", "topics": []}
    assert found({"members": [one, other]}, {"members": [other, one]}) == []
    changed = {**other, "topics": ["b"]}
    assert found({"members": [one, other]}, {"members": [changed, one]})
