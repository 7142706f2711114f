"""SCRAM: the client proves that it knows the password, and the broker proves that it knows the
user.

The two sides exchange four messages:

    client   n,,n=alice,r=CLIENT_NONCE
    broker   r=CLIENT_NONCE BROKER_NONCE,s=SALT,i=ITERATIONS
    client   c=biws,r=CLIENT_NONCE BROKER_NONCE,p=PROOF
    broker   v=SIGNATURE

Two regular expressions accept the messages that Kafka accepts. A library for SCRAM might accept
other messages.

Source: ScramSaslServer, ScramMessages, ScramFormatter, ScramMechanism; RFC 5802, RFC 7677.
Simplified: As in Kafka, names and passwords are not normalised (SASLprep), the channel binding is
not compared, and extensions are ignored. There are no delegation tokens.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from reference_impl.wire.security.exchange import AuthenticationFailed, BrokenExchange
from reference_impl.wire.security.plain import OTHER_ID

SALT_BYTES: Final = 16
_NAME: Final = rb"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_VALUE: Final = rb"[\x01-\x2b\x2d-\x7f]+"
_PRINTABLE: Final = rb"[\x21-\x2b\x2d-\x7e]+"
_BASE64: Final = rb"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSIONS: Final = rb"(?:,[A-Za-z]+=%b)*" % _VALUE
CLIENT_FIRST: Final = re.compile(
    rb"n,(?:a=(?P<authorization_id>%b))?,(?:m=%b,)?n=(?P<name>%b),r=(?P<nonce>%b)(?P<extensions>%b)"
    % (_NAME, _VALUE, _NAME, _PRINTABLE, _EXTENSIONS)
)
CLIENT_FINAL: Final = re.compile(
    rb"c=(?P<channel>%b),r=(?P<nonce>%b)%b,p=(?P<proof>%b)"
    % (_BASE64, _PRINTABLE, _EXTENSIONS, _BASE64)
)
_TOKEN_AUTHENTICATION: Final = b"tokenauth=true"


class ScramMechanism(IntEnum):
    """A SCRAM mechanism. Its value is the number of the mechanism in requests."""

    SHA_256 = 1
    SHA_512 = 2

    @property
    def hash_name(self) -> str:
        return f"sha{self.name[-3:]}"


FEWEST_ITERATIONS: Final = 4096
MOST_ITERATIONS: Final = 16384


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """The data that a server stores instead of a password. They suffice to check a client's
    proof, but not to compute a proof.
    """

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    @classmethod
    def of_password(
        cls,
        mechanism: ScramMechanism,
        password: str,
        salt: bytes | None = None,
        iterations: int = FEWEST_ITERATIONS,
    ) -> ScramCredential:
        """Returns the credential of a password. If `salt` is None, the salt is new and random."""
        salted_with = secrets.token_bytes(SALT_BYTES) if salt is None else salt
        salted = hashlib.pbkdf2_hmac(
            mechanism.hash_name, password.encode(), salted_with, iterations
        )
        return cls.of_salted(mechanism, salted, salted_with, iterations)

    @classmethod
    def of_salted(
        cls, mechanism: ScramMechanism, salted_password: bytes, salt: bytes, iterations: int
    ) -> ScramCredential:
        client_key = hmac.digest(salted_password, b"Client Key", mechanism.hash_name)
        return cls(
            salt=salt,
            stored_key=hashlib.new(mechanism.hash_name, client_key).digest(),
            server_key=hmac.digest(salted_password, b"Server Key", mechanism.hash_name),
            iterations=iterations,
        )


def _new_nonce() -> str:
    return secrets.token_urlsafe(24)


@dataclass(slots=True)
class ScramExchange:
    """An exchange of a SCRAM mechanism. It checks the client's proof against the credential of
    the user that the client names.
    """

    mechanism: ScramMechanism
    credentials: Mapping[str, ScramCredential]
    new_nonce: Callable[[], str] = _new_nonce
    user: str | None = None
    _begun: _Begun | None = None
    _is_over: bool = field(default=False, init=False)

    def answer(self, token: bytes) -> bytes:
        if self._is_over:
            raise BrokenExchange("a token arrives after the end of the SCRAM exchange")
        self._is_over = True  # unless the client's first message is accepted
        if self._begun is not None:
            return self._final(self._begun, token)
        self._begun, challenge = self._first(token)
        self._is_over = False
        return challenge

    def _first(self, token: bytes) -> tuple[_Begun, bytes]:
        message = CLIENT_FIRST.fullmatch(token)
        if message is None:
            raise AuthenticationFailed("the client's first SCRAM message has another form")
        name = _user_name(message["name"])
        credential = self.credentials.get(name)
        if _TOKEN_AUTHENTICATION in message["extensions"].lower().split(b","):
            raise AuthenticationFailed(f"there is no delegation token {name!r}")
        if credential is None:
            raise AuthenticationFailed(f"user {name!r} has no credential of this mechanism")
        # As in Kafka, the authorization id is compared as it is written.
        if (message["authorization_id"] or b"").decode() not in ("", name):
            raise AuthenticationFailed(OTHER_ID, shown=OTHER_ID)
        nonce = message["nonce"] + self.new_nonce().encode()
        salt = base64.b64encode(credential.salt)
        challenge = b"r=%b,s=%b,i=%d" % (nonce, salt, credential.iterations)
        bare = b"n=%b,r=%b%b" % (message["name"], message["nonce"], message["extensions"])
        return _Begun(name, credential, nonce, b"%b,%b" % (bare, challenge)), challenge

    def _final(self, begun: _Begun, token: bytes) -> bytes:
        message = CLIENT_FINAL.fullmatch(token)
        if message is None:
            raise AuthenticationFailed("the client's final SCRAM message has another form")
        if not hmac.compare_digest(message["nonce"], begun.nonce):
            raise AuthenticationFailed("the client's final SCRAM message has another nonce")
        hash_name, credential = self.mechanism.hash_name, begun.credential
        without_proof = b"c=%b,r=%b" % (message["channel"], begun.nonce)
        auth_message = b"%b,%b" % (begun.messages, without_proof)
        signature = hmac.digest(credential.stored_key, auth_message, hash_name)
        proof = base64.b64decode(message["proof"])
        if len(proof) != len(signature):
            raise BrokenExchange(f"the proof of SCRAM has {len(proof)} bytes")
        client_key = bytes(one ^ other for one, other in zip(proof, signature, strict=True))
        stored_key = hashlib.new(hash_name, client_key).digest()
        if not hmac.compare_digest(stored_key, credential.stored_key):
            raise AuthenticationFailed(f"user {begun.name!r} has another password")
        self.user = begun.name
        signed = hmac.digest(credential.server_key, auth_message, hash_name)
        return b"v=" + base64.b64encode(signed)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A SCRAM exchange that waits for the client's proof."""

    name: str
    credential: ScramCredential
    nonce: bytes
    messages: bytes  # the first message of each side, as the proof signs them


def _user_name(sasl_name: bytes) -> str:
    return sasl_name.decode("ascii").replace("=2C", ",").replace("=3D", "=")
