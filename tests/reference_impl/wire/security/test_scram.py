"""SCRAM agrees with its RFCs' examples and an independent client, and refuses invalid messages."""

from __future__ import annotations

import base64
import hashlib
import hmac
from enum import IntEnum
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.wire.security.exchange import AuthenticationFailed, BrokenExchange
from reference_impl.wire.security.scram import (
    FEWEST_ITERATIONS,
    ScramCredential,
    ScramExchange,
    ScramMechanism,
)

SHA_256, SHA_512 = ScramMechanism.SHA_256, ScramMechanism.SHA_512


class OfRfc5802(IntEnum):
    """The mechanism of RFC 5802's example, which Kafka does not have."""

    SHA_1 = 0

    @property
    def hash_name(self) -> str:
        return "sha1"


SHA_1 = cast(ScramMechanism, OfRfc5802.SHA_1)
VECTORS: dict[str, dict[str, Any]] = {
    "RFC 5802": {
        "mechanism": SHA_1,
        "nonces": ("fyko+d2lbbFgONRv9qkxdawL", "3rfcNHYJY1ZVvWVs7j"),
        "salt": "QSXCR+Q6sek8bf92",
        "proof": "v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
        "signature": "rmF9pqV8S7suAoZWja4dJRkFsKQ=",
    },
    "RFC 7677": {
        "mechanism": SHA_256,
        "nonces": ("rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"),
        "salt": "W22ZaJ0SNY7soEsUEjb6gQ==",
        "proof": "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        "signature": "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
    },
}


@pytest.mark.parametrize("vector", VECTORS.values(), ids=VECTORS)
def test_the_example_of_the_rfc_is_accepted(vector: dict[str, Any]) -> None:
    client, broker = vector["nonces"]
    salt = base64.b64decode(vector["salt"])
    credential = ScramCredential.of_password(vector["mechanism"], "pencil", salt, 4096)
    exchange = ScramExchange(vector["mechanism"], {"user": credential}, lambda: broker)
    challenge = exchange.answer(f"n,,n=user,r={client}".encode())
    assert challenge.decode() == f"r={client}{broker},s={vector['salt']},i=4096"
    assert exchange.user is None
    final = exchange.answer(f"c=biws,r={client}{broker},p={vector['proof']}".encode())
    assert final.decode() == f"v={vector['signature']}"
    assert exchange.user == "user"


# ---------------------------------------------------------------- an independent client


def final_message(hash_name: str, password: str, first: bytes, challenge: bytes) -> bytes:
    """Returns the client's final message, computed from RFC 5802 alone."""
    fields = dict(part.split(b"=", 1) for part in challenge.split(b","))
    salted = hashlib.pbkdf2_hmac(
        hash_name, password.encode(), base64.b64decode(fields[b"s"]), int(fields[b"i"])
    )
    client_key = hmac.new(salted, b"Client Key", hash_name).digest()
    bare = first.removeprefix(b"n,,")
    without_proof = b"c=biws,r=" + fields[b"r"]
    auth_message = b",".join((bare, challenge, without_proof))
    stored_key = hashlib.new(hash_name, client_key).digest()
    signature = hmac.new(stored_key, auth_message, hash_name).digest()
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    return without_proof + b",p=" + base64.b64encode(proof)


CREDENTIALS = {
    mechanism: {
        name: ScramCredential.of_password(mechanism, f"of {name}") for name in ("alice", "a,b=c")
    }
    for mechanism in ScramMechanism
}
mechanisms = st.sampled_from(ScramMechanism)
first_messages = st.sampled_from((b"n,,n=alice,r=nonce", b"n,,n=a=2Cb=3Dc,r=nonce,ext=1"))


@given(mechanism=mechanisms, first=first_messages, right=st.booleans())
def test_only_the_password_proves_a_user(
    mechanism: ScramMechanism, first: bytes, right: bool
) -> None:
    exchange = ScramExchange(mechanism, CREDENTIALS[mechanism])
    name = "alice" if b"alice" in first else "a,b=c"
    password = f"of {name}" if right else "another"
    final = final_message(mechanism.hash_name, password, first, exchange.answer(first))
    if right:
        assert exchange.answer(final).startswith(b"v=")
        assert exchange.user == name
    else:
        with pytest.raises(AuthenticationFailed, match="has another password"):
            exchange.answer(final)
        assert exchange.user is None


# ---------------------------------------------------------------- messages of any form


def damaged(message: bytes) -> st.SearchStrategy[bytes]:
    """Returns copies of the message with some bytes replaced, removed or repeated."""
    places = st.integers(0, len(message))
    pieces = st.sampled_from((b"", b",", b"=", b"r=", b"\0", b"\xff", b"n,", b"=2C", b"m=x,"))
    return st.builds(
        lambda a, b, piece: message[: min(a, b)] + piece + message[max(a, b) :],
        places,
        places,
        pieces,
    )


@given(
    mechanism=mechanisms,
    first=st.binary(max_size=40) | damaged(b"n,a=alice,n=alice,r=nonce,tokenauth=true"),
    final=st.binary(max_size=40) | damaged(b"c=biws,r=nonce,p=AAAA"),
    begins=st.booleans(),
)
def test_no_bytes_without_the_password_prove_a_user(
    mechanism: ScramMechanism, first: bytes, final: bytes, begins: bool
) -> None:
    exchange = ScramExchange(mechanism, CREDENTIALS[mechanism], lambda: "")
    try:
        exchange.answer(b"n,,n=alice,r=nonce" if begins else first)
        exchange.answer(final)
    except (AuthenticationFailed, BrokenExchange):
        pass
    assert exchange.user is None


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (b"", "another form"),
        (b"y,,n=alice,r=nonce", "another form"),
        (b"n,,n=alice,r=", "another form"),
        (b"n,,n=al=ice,r=nonce", "another form"),
        ("n,,n=älice,r=nonce".encode(), "another form"),
        (b"n,,n=bob,r=nonce", "user 'bob' has no credential"),
        (b"n,a=bob,n=alice,r=nonce", "authorization id"),
        (b"n,,n=alice,r=nonce,tokenauth=true", "no delegation token 'alice'"),
    ],
)
def test_a_first_message_is_refused(first: bytes, why: str) -> None:
    with pytest.raises(AuthenticationFailed, match=why):
        ScramExchange(SHA_256, CREDENTIALS[SHA_256]).answer(first)


@pytest.mark.parametrize(
    ("final", "error", "why"),
    [
        (b"c=biws,r=nonce,p=AAAA", AuthenticationFailed, "another nonce"),
        (b"c=biws,r=nonceours,p=AAAA", BrokenExchange, "has 3 bytes"),
        (b"c=biws,r=nonceours", AuthenticationFailed, "another form"),
        (b"c=b,r=nonceours,p=AAAA", AuthenticationFailed, "another form"),
    ],
)
def test_a_final_message_is_refused(final: bytes, error: type[Exception], why: str) -> None:
    exchange = ScramExchange(SHA_256, CREDENTIALS[SHA_256], lambda: "ours")
    exchange.answer(b"n,a=alice,n=alice,r=nonce")
    with pytest.raises(error, match=why):
        exchange.answer(final)
    with pytest.raises(BrokenExchange, match="after the end"):
        exchange.answer(final)


def test_the_reserved_extension_is_not_signed() -> None:
    """Kafka reads `m=` and signs the message without it; RFC 5802 refuses the message."""
    exchange = ScramExchange(SHA_512, CREDENTIALS[SHA_512])
    challenge = exchange.answer(b"n,,m=x,n=alice,r=nonce")
    final = final_message("sha512", "of alice", b"n,,n=alice,r=nonce", challenge)
    assert exchange.answer(final).startswith(b"v=")


def test_credentials_have_salts_of_their_own_and_kafkas_iterations() -> None:
    one, other = (ScramCredential.of_password(SHA_256, "secret") for _ in range(2))
    assert one.salt != other.salt
    assert one.stored_key != other.stored_key
    assert one.iterations == FEWEST_ITERATIONS == 4096
