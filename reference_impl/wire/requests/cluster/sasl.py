"""Handles SASL requests, and requests about SCRAM credentials.

Each line shows requests and their effect:

    SaslHandshake, SaslAuthenticate   are refused with ILLEGAL_SASL_STATE: the client has
                                      authenticated already, or need not authenticate
    DescribeUserScramCredentials      returns the mechanisms and iterations of users
    AlterUserScramCredentials         adds, replaces and deletes credentials, user by user

The package `authentication` handles the SASL requests of a client that must still authenticate
itself.

Source: KafkaApis.handleSaslHandshakeRequest, KafkaApis.handleSaslAuthenticateRequest,
KafkaApis.handleDescribeUserScramCredentialsRequest; ScramImage.describe;
ScramControlManager.alterCredentials; KIP-554.
Simplified: There is no authorizer, so every client may change credentials.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.adapter import Call
from reference_impl.wire.requests.broker.served_broker import ServedBroker
from reference_impl.wire.security.scram import (
    FEWEST_ITERATIONS,
    MOST_ITERATIONS,
    ScramCredential,
    ScramMechanism,
)

TWICE: Final = "A user credential cannot be altered twice in the same request"
NO_CREDENTIAL: Final = "Attempt to delete a user credential that does not exist"
NO_USER: Final = "Attempt to describe a user credential that does not exist: "
DUPLICATE_USER: Final = "Cannot describe SCRAM credentials for the same user twice in a single "
DUPLICATE_USER_REQUEST: Final = DUPLICATE_USER + "request: "
Refusal = tuple[ErrorCode, str]
Change = tuple[tuple[ScramMechanism, str], ScramCredential | None]
_KNOWN: Final = frozenset(ScramMechanism)


async def sasl_handshake(_broker: ServedBroker, call: Call) -> bytes:
    return call.respond(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=())


async def sasl_authenticate(_broker: ServedBroker, call: Call) -> bytes:
    return call.respond(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
        auth_bytes=b"",
    )


async def describe_scram(broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to DescribeUserScramCredentials. If the request names no user, the
    response describes every user.
    """
    scram = broker.credentials.scram
    named = Counter(user.name for user in call.body.users or ())
    if not named:
        named = Counter({name: 1 for users in scram.values() for name in users})
    return call.respond(
        error_code=ErrorCode.NONE,
        error_message=None,
        results=tuple(_described(broker, call, name, count) for name, count in named.items()),
    )


def _described(broker: ServedBroker, call: Call, name: str, count: int) -> Any:
    found = [
        call.make("CredentialInfo", mechanism=int(mechanism), iterations=users[name].iterations)
        for mechanism, users in broker.credentials.scram.items()
        if name in users
    ]
    error, message = ErrorCode.NONE, None
    if count > 1:
        error, message, found = ErrorCode.DUPLICATE_RESOURCE, DUPLICATE_USER_REQUEST + name, []
    elif not found:
        error, message = ErrorCode.RESOURCE_NOT_FOUND, NO_USER + name
    return call.make(
        "DescribeUserScramCredentialsResult",
        user=name,
        error_code=error,
        error_message=message,
        credential_infos=tuple(found),
    )


async def alter_scram(broker: ServedBroker, call: Call) -> bytes:
    """Changes credentials, and returns the response to AlterUserScramCredentials. A user that
    the request names twice is not changed.
    """
    errors: dict[str, Refusal] = {}
    changes: dict[str, Change] = {}

    def plan(name: str, refused: Refusal | None, change: Callable[[], Change]) -> None:
        if name in errors:
            return
        if changes.pop(name, None) is not None:
            errors[name] = ErrorCode.DUPLICATE_RESOURCE, TWICE
        elif refused is not None:
            errors[name] = refused
        else:
            changes[name] = change()

    for deletion in call.body.deletions:
        plan(deletion.name, _no_deletion(broker, deletion), _deletion(deletion))
    for upsertion in call.body.upsertions:
        plan(upsertion.name, _no_upsertion(upsertion), _upsertion(upsertion))
    if changes:
        await broker.change_credentials(dict(changes.values()))
    altered = [(name, (ErrorCode.NONE, None)) for name in changes]
    return call.respond(
        results=tuple(
            call.make(
                "AlterUserScramCredentialsResult",
                user=name,
                error_code=error,
                error_message=message,
            )
            for name, (error, message) in (*altered, *errors.items())
        )
    )


def _no_deletion(broker: ServedBroker, deletion: Any) -> Refusal | None:
    refused = _refused_change(deletion)
    if refused is not None:
        return refused
    if deletion.name not in broker.credentials.scram[ScramMechanism(deletion.mechanism)]:
        return ErrorCode.RESOURCE_NOT_FOUND, NO_CREDENTIAL
    return None


def _no_upsertion(upsertion: Any) -> Refusal | None:
    refused = _refused_change(upsertion)
    if refused is not None:
        return refused
    if upsertion.iterations < FEWEST_ITERATIONS:
        return ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"
    if upsertion.iterations > MOST_ITERATIONS:
        return ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"
    return None


def _refused_change(alteration: Any) -> Refusal | None:
    if not alteration.name:
        return ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"
    if alteration.mechanism not in _KNOWN:
        return ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"
    return None


def _deletion(deletion: Any) -> Callable[[], Change]:
    return lambda: ((ScramMechanism(deletion.mechanism), deletion.name), None)


def _upsertion(upsertion: Any) -> Callable[[], Change]:
    def upsert() -> Change:
        mechanism = ScramMechanism(upsertion.mechanism)
        credential = ScramCredential.of_salted(
            mechanism, upsertion.salted_password, upsertion.salt, upsertion.iterations
        )
        return (mechanism, upsertion.name), credential

    return upsert
