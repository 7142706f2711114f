"""Decides which requests a client may send before it is authenticated, and answers these requests.

Each line shows a stage of the connection, a request that is allowed in the stage, and the next
stage.

    stage                   request            the next stage
    BEGUN                   ApiVersions        VERSIONS_KNOWN
    BEGUN, VERSIONS_KNOWN   SaslHandshake      EXCHANGE; refused if the mechanism is unknown
    EXCHANGE                SaslAuthenticate   EXCHANGE, or AUTHENTICATED after the last token;
                                               refused if the credentials are wrong
    AUTHENTICATED           any                AUTHENTICATED

If sessions have a limited lifetime, a client authenticates itself once more before its session
ends: SaslHandshake leads from AUTHENTICATED to EXCHANGE.

Every other request closes the connection. A refused request closes the connection, too, after a
response that is sent 100 ms later. After a SaslHandshake of version 0, each frame consists of a
SASL token alone, without a request header.

Source: SaslServerAuthenticator; KafkaChannel.maybeBeginServerReauthentication; KIP-43, KIP-152,
KIP-255, KIP-306 (connection.failed.authentication.delay.ms), KIP-368.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.faults.error_answers import refusal
from reference_impl.wire.messages.adapter import Call, MalformedFrame, span
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.requests.broker.served_broker import ServedBroker
from reference_impl.wire.requests.cluster.control_plane import api_versions, has_valid_names
from reference_impl.wire.requests.handled import Handled
from reference_impl.wire.security.credentials import Credentials
from reference_impl.wire.security.exchange import (
    AuthenticationFailed,
    BrokenExchange,
    Exchange,
)
from reference_impl.wire.security.settings import Mechanism

REFUSES_AFTER_S: Final = 0.1  # connection.failed.authentication.delay.ms
HEADERS_SINCE: Final = 1  # SaslHandshake: the version after which tokens are in SaslAuthenticate
REAUTHENTICATES_ONCE_IN_MS: Final = 1000
_API_KEY: Final = struct.Struct(">h")


class Stage(Enum):
    BEGUN = "it has not authenticated"
    VERSIONS_KNOWN = "it has not authenticated, and has sent ApiVersions"
    EXCHANGE = "it authenticates"
    OTHER_MECHANISM = "it has changed its mechanism"
    AUTHENTICATED = "it is authenticated"


ALLOWED: Final[Mapping[Stage, frozenset[Api]]] = {
    Stage.BEGUN: frozenset({Api.API_VERSIONS, Api.SASL_HANDSHAKE}),
    Stage.VERSIONS_KNOWN: frozenset({Api.SASL_HANDSHAKE}),
    Stage.EXCHANGE: frozenset({Api.SASL_AUTHENTICATE}),
    Stage.OTHER_MECHANISM: frozenset(),
}


class Refused(Exception):
    """Raised if the broker refuses a SASL token that a client sent without a request header. The
    connection must be closed without a response.
    """


@dataclass(slots=True, kw_only=True)
class Authentication:
    """The state of the authentication of one connection. `failure` is the reason why a request
    was refused, for the broker's log. `now_ms` returns the current time in milliseconds.
    """

    credentials: Credentials
    mechanisms: tuple[Mechanism, ...]
    max_reauth_ms: int
    now_ms: Callable[[], int]
    stage: Stage = Stage.BEGUN
    failure: str = ""
    user: str | None = None
    _mechanism: Mechanism | None = None
    _exchange: Exchange | None = None
    _is_bare: bool = False  # tokens have no request header
    _ends_at_ms: int | None = None
    _again_at_ms: int | None = None  # when it last began to authenticate again

    def admits(self, frame: bytes) -> bool:
        """Returns True if the client is authenticated, so that the broker may handle the request in
        `frame`.

        If the result is False, the caller passes the frame to `handle` or `take_bare_token`. The
        result is also False for a SaslHandshake with which the client begins to authenticate itself
        once more. Raises MalformedFrame if the session has ended.
        """
        if self.stage is not Stage.AUTHENTICATED:
            return False
        if self._ends_at_ms is None:
            return True
        now_ms = self.now_ms()
        if _is_handshake(frame) and (
            self._again_at_ms is None or now_ms - self._again_at_ms >= REAUTHENTICATES_ONCE_IN_MS
        ):
            self._again_at_ms = now_ms
            self.stage = Stage.VERSIONS_KNOWN
            return False
        if now_ms >= self._ends_at_ms:
            raise MalformedFrame(f"the session of {self.user!r} has ended without a new one")
        return True

    @property
    def takes_bare_tokens(self) -> bool:
        return self.stage is Stage.EXCHANGE and self._is_bare

    async def handle(self, broker: ServedBroker, call: Call) -> Handled:
        """Returns the response to a request of a client that is not authenticated.

        If the request is refused, the connection must be closed after the response. Raises
        MalformedFrame if the connection must be closed without a response.
        """
        if call.api not in ALLOWED[self.stage]:
            if self.stage is not Stage.EXCHANGE:
                raise MalformedFrame(f"{call.api.name}, although {self.stage.value}")
            return await self._refused(
                refusal(call, ErrorCode.ILLEGAL_SASL_STATE.name),
                f"{call.api.name} instead of SASL_AUTHENTICATE",
            )
        if call.api is Api.API_VERSIONS:
            if has_valid_names(call):
                self.stage = Stage.VERSIONS_KNOWN
            return Handled(await api_versions(broker, call))
        if call.api is Api.SASL_HANDSHAKE:
            return await self._shake_hands(call)
        return await self._authenticate(call)

    async def take_bare_token(self, token: bytes) -> bytes:
        """Returns the next SASL challenge for a token that has no request header. Raises Refused
        if the authentication fails.
        """
        try:
            return self._answer(token)
        except (AuthenticationFailed, BrokenExchange) as failed:
            self.failure = str(failed)
            await asyncio.sleep(REFUSES_AFTER_S)
            raise Refused from failed

    async def _shake_hands(self, call: Call) -> Handled:
        wanted = call.body.mechanism
        if wanted not in self.mechanisms and self.user is not None:
            raise MalformedFrame(f"{self.user!r} goes on with the unknown mechanism {wanted!r}")
        if wanted not in self.mechanisms:
            error = ErrorCode.UNSUPPORTED_SASL_MECHANISM
            frame = call.respond(error_code=error, mechanisms=self.mechanisms)
            return await self._refused(frame, f"the mechanism {wanted!r} is not switched on")
        mechanism = Mechanism(wanted)
        is_other = self._mechanism not in (None, mechanism)
        self.stage = Stage.OTHER_MECHANISM if is_other else Stage.EXCHANGE
        if not is_other:
            self._mechanism = mechanism
        self._exchange = self.credentials.exchange(mechanism)
        self._is_bare = call.version < HEADERS_SINCE
        return Handled(call.respond(error_code=ErrorCode.NONE, mechanisms=self.mechanisms))

    async def _authenticate(self, call: Call) -> Handled:
        try:
            challenge = self._answer(call.body.auth_bytes)
        except BrokenExchange as broken:
            raise MalformedFrame(str(broken)) from broken
        except AuthenticationFailed as failed:
            shown = failed.shown or self._generic_refusal()
            frame = call.respond(
                error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=shown, auth_bytes=b""
            )
            return await self._refused(frame, str(failed))
        has_ended = self.stage is Stage.AUTHENTICATED
        frame = call.respond(
            error_code=ErrorCode.NONE,
            error_message="",
            auth_bytes=challenge,
            session_lifetime=span(self.max_reauth_ms if has_ended else 0),
        )
        return Handled(frame)

    def _answer(self, token: bytes) -> bytes:
        assert self._exchange is not None, "SaslHandshake comes first"
        challenge = self._exchange.answer(token)
        user = self._exchange.user
        if user is not None:
            if self.user not in (None, user):
                why = "Cannot change principals during re-authentication from "
                why += f"User.{self.user}: User.{user}"
                raise AuthenticationFailed(why, shown=why)
            self.user = user
            self.stage = Stage.AUTHENTICATED
            if self.max_reauth_ms:
                self._ends_at_ms = self.now_ms() + self.max_reauth_ms
        return challenge

    def _generic_refusal(self) -> str:
        again = "re-authentication" if self.user is not None else "authentication"
        return (
            f"Authentication failed during {again} due to invalid credentials with SASL mechanism "
            f"{self._mechanism}"
        )

    async def _refused(self, frame: bytes, why: str) -> Handled:
        self.failure = why
        await asyncio.sleep(REFUSES_AFTER_S)
        return Handled(frame, closes=True, is_answered=True)


def _is_handshake(frame: bytes) -> bool:
    return len(frame) >= _API_KEY.size and _API_KEY.unpack_from(frame)[0] == Api.SASL_HANDSHAKE
