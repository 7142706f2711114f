"""A recorded reason explains exactly the differences that it describes.

A difference is a field in which the answers of the reference broker and another system differ.
"""

from __future__ import annotations

from typing import Any

import pytest

from checkers.conform.compare import Difference
from checkers.conform.reason import Reason, Verdict, both_have_the_same_error, reason_of
from checkers.conform.steps import Send
from reference_impl.wire.messages.apis import Api

ROW = Reason(
    name="r",
    verdict=Verdict.PERMITTED,
    apis=frozenset({Api.FETCH}),
    versions=range(4, 12),
    field="*.high_watermark",
    system=(-1,),
    notes="offset *",
    sentence="Because.",
)


def difference(**changes: Any) -> Difference:
    send = Send(
        api=changes.pop("api", Api.FETCH),
        version=changes.pop("version", 11),
        body={},
        to="any",
        note=changes.pop("note", "offset 3"),
    )
    cells: dict[str, Any] = {
        "field": "p.high_watermark",
        "system": -1,
        "reference": 5,
        "system_fields": {},
        "reference_fields": {},
        **changes,
    }
    return Difference(send=send, **cells)


def test_a_reason_explains_the_differences_that_it_describes() -> None:
    assert ROW.explains(difference())
    assert reason_of(difference(), [ROW]) is ROW


@pytest.mark.parametrize(
    "change",
    [
        {"api": Api.PRODUCE},
        {"version": 12},
        {"note": "limit 3"},
        {"field": "p.offset"},
        {"system": 4},
    ],
)
def test_a_reason_explains_no_other_difference(change: dict[str, Any]) -> None:
    assert not ROW.explains(difference(**change))
    assert reason_of(difference(**change), [ROW]) is None


@pytest.mark.parametrize(
    ("system", "reference", "expected"),
    [("A", "A", True), ("A", "B", False), ("NONE", "NONE", False), (None, None, False)],
)
def test_a_field_of_an_error_response_needs_the_same_error_on_both_sides(
    system: str | None, reference: str | None, expected: bool
) -> None:
    one = difference(
        system_fields={"error_code": system} if system else {},
        reference_fields={"error_code": reference} if reference else {},
    )
    assert both_have_the_same_error(one) is expected
