"""A proxy reads the header of a frame; its fault rules select requests by API, node and client."""

from __future__ import annotations

import pytest

from checkers.systems.proxies.frames import Header, NotKafka, correlation_id, request_header
from checkers.systems.proxies.rules import CLIENT, Match
from reference_impl.wire.messages.apis import Api

PRODUCE = Header(api_key=0, api_version=9, correlation_id=4, client_id="app-1")


@pytest.mark.parametrize(
    ("match", "selected"),
    [
        (Match(), True),
        (Match(sender=CLIENT, receiver=2), True),
        (Match(sender=1), False),
        (Match(receiver=1), False),
        (Match(api=Api.PRODUCE), True),
        (Match(api=Api.FETCH), False),
        (Match(client_id="app"), True),
        (Match(client_id="other"), False),
        (Match(sender=CLIENT, receiver=2, api=Api.FETCH), False),
    ],
)
def test_every_field_of_a_match_must_agree(match: Match, selected: bool) -> None:
    assert match.selects(CLIENT, 2, PRODUCE) is selected


@pytest.mark.parametrize(
    ("match", "numbers"),
    [
        (Match(), [1, 2, 3, 4, 5]),
        (Match(count=1), [1]),
        (Match(first=3), [3, 4, 5]),
        (Match(first=2, count=2), [2, 3]),
        (Match(count=0), []),
    ],
)
def test_occurrences_count_from_one(match: Match, numbers: list[int]) -> None:
    assert [n for n in range(1, 6) if match.selects_occurrence(n)] == numbers


def test_a_client_without_an_id_is_selected_by_no_id() -> None:
    nameless = Header(api_key=0, api_version=9, correlation_id=4, client_id=None)
    assert not Match(client_id="app").selects(1, 2, nameless)
    assert Match().selects(1, 2, nameless)


@pytest.mark.parametrize(
    ("frame", "client_id"),
    [
        (b"\x00\x00\x00\x09\x00\x00\x00\x04\x00\x05app-1", "app-1"),
        (b"\x00\x00\x00\x09\x00\x00\x00\x04\xff\xff", None),
        (b"\x00\x00\x00\x09\x00\x00\x00\x04", None),  # ControlledShutdown v0 has no client id
    ],
)
def test_a_header_is_read_from_the_first_bytes(frame: bytes, client_id: str | None) -> None:
    assert request_header(frame) == Header(
        api_key=Api.PRODUCE, api_version=9, correlation_id=4, client_id=client_id
    )


def test_frames_that_are_too_short_are_not_kafkas() -> None:
    with pytest.raises(NotKafka, match="a request of 3 bytes"):
        request_header(b"abc")
    with pytest.raises(NotKafka, match="a response of 2 bytes"):
        correlation_id(b"ab")
