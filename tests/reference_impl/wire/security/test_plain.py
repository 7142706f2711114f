"""A SASL/PLAIN token authenticates a user by name and password; any other token is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.wire.security.exchange import AuthenticationFailed
from reference_impl.wire.security.plain import PlainExchange
from tests.reference_impl.wire.authentication.conftest import USERS, plain


@pytest.mark.parametrize("name", USERS)
def test_a_name_and_its_password_are_enough(name: str) -> None:
    for authorization_id in ("", name):
        exchange = PlainExchange(USERS)
        assert exchange.answer(plain(name, USERS[name], authorization_id)) == b""
        assert exchange.user == name


@pytest.mark.parametrize(
    ("token", "shown", "why"),
    [
        (b"", "expected 3 tokens, got 1", "expected 3"),
        (b"alice\0secret", "expected 3 tokens, got 2", "expected 3"),
        (b"\0alice\0secret\0\0\0", "expected 3 tokens, got 4", "expected 3"),
        (b"\0\0secret", "username not specified", "username"),
        (b"\0alice\0", "password not specified", "password"),
        (plain("alice", "Secret"), "Invalid username or password", "user 'alice' has another"),
        (plain("bob", "secret"), "Invalid username or password", "user 'bob' is unknown"),
        (plain("alice", "secret", "bob"), "authorization id that is different", "authorization id"),
        (b"\0alice\0\xff", "Invalid username or password", "user 'alice' has another"),
    ],
)
def test_a_token_is_refused(token: bytes, shown: str, why: str) -> None:
    exchange = PlainExchange(USERS)
    with pytest.raises(AuthenticationFailed, match=why) as refused:
        exchange.answer(token)
    assert shown in (refused.value.shown or "")
    assert exchange.user is None


@given(st.binary(max_size=30))
def test_no_other_bytes_prove_a_user(token: bytes) -> None:
    exchange = PlainExchange({"alice": "a password of more than thirty bytes"})
    with pytest.raises(AuthenticationFailed):
        exchange.answer(token)
