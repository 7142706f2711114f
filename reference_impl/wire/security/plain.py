"""SASL/PLAIN: the client sends its name and its password in one token.

The line shows the token of the client and the challenge of the broker, which is empty:

    authorization id NUL name NUL password -> nothing

Source: PlainSaslServer, PlainServerCallbackHandler; RFC 4616.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from reference_impl.wire.security.exchange import AuthenticationFailed

OTHER_ID: Final = (
    "Authentication failed: Client requested an authorization id that is different from username"
)
_NUL: Final = "\0"
_FIELDS: Final = 3


@dataclass(slots=True)
class PlainExchange:
    """An exchange of the mechanism PLAIN. The comparison of passwords takes the same time for
    right and wrong passwords.
    """

    passwords: Mapping[str, str]
    user: str | None = None

    def answer(self, token: bytes) -> bytes:
        fields = token.decode(errors="replace").split(_NUL, _FIELDS)
        if len(fields) != _FIELDS:
            raise _failed(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(fields)}")
        authorization_id, name, password = fields
        if not name:
            raise _failed("Authentication failed: username not specified")
        if not password:
            raise _failed("Authentication failed: password not specified")
        known = self.passwords.get(name, "")  # no user has an empty password
        if not hmac.compare_digest(password.encode(), known.encode()):
            why = "has another password" if known else "is unknown"
            raise AuthenticationFailed(
                f"user {name!r} {why}", shown="Authentication failed: Invalid username or password"
            )
        if authorization_id not in ("", name):
            raise _failed(OTHER_ID)
        self.user = name
        return b""


def _failed(why: str) -> AuthenticationFailed:
    return AuthenticationFailed(why, shown=why)
