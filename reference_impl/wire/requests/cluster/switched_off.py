"""Handles the requests of features that are switched off: access control and delegation tokens.

As in Kafka without an authorizer, requests about access control get SECURITY_DISABLED. As in Kafka
without authentication, requests about tokens are refused. Telemetry requests are not supported, and
ApiVersions does not list them.

Source: KIP-48, KIP-140; AclApis, KafkaApis of Apache Kafka.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.adapter import Call
from reference_impl.wire.requests.broker.served_broker import ServedBroker

NO_AUTHORIZER: Final = "No Authorizer is configured."
NO_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC) - timedelta(milliseconds=1)  # -1 on the wire
USER: Final = "User"
ANONYMOUS: Final = "ANONYMOUS"  # the name of a client without SASL
NAMES_THE_OWNER: Final = 3  # the first version of CreateDelegationToken with an owner
DISABLED: Final = ErrorCode.SECURITY_DISABLED
NOT_ALLOWED: Final = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


async def describe_acls(_broker: ServedBroker, call: Call) -> bytes:
    return call.respond(error_code=DISABLED, error_message=NO_AUTHORIZER, resources=())


async def create_acls(_broker: ServedBroker, call: Call) -> bytes:
    result = call.make("AclCreationResult", error_code=DISABLED, error_message=NO_AUTHORIZER)
    return call.respond(results=(result,) * len(call.body.creations))


async def delete_acls(_broker: ServedBroker, call: Call) -> bytes:
    result = call.make(
        "DeleteAclsFilterResult",
        error_code=DISABLED,
        error_message=NO_AUTHORIZER,
        matching_acls=(),
    )
    return call.respond(filter_results=(result,) * len(call.body.filters))


async def create_token(_broker: ServedBroker, call: Call) -> bytes:
    """Returns the refusal of a CreateDelegationToken request. It repeats the owner that the request
    names.

    Kafka: KafkaApis.handleCreateTokenRequest, CreateDelegationTokenResponse.prepareResponse.
    """
    kind, name = USER, ANONYMOUS
    if call.version >= NAMES_THE_OWNER and call.body.owner_principal_name:
        kind, name = call.body.owner_principal_type or "", call.body.owner_principal_name
    return call.respond(
        error_code=NOT_ALLOWED,
        principal_type=kind,
        principal_name=name,
        token_requester_principal_type=USER,
        token_requester_principal_name=ANONYMOUS,
        issue_timestamp=NO_TIME,
        expiry_timestamp=NO_TIME,
        max_timestamp=NO_TIME,
        token_id="",
        hmac=b"",
    )


async def renew_or_expire_token(_broker: ServedBroker, call: Call) -> bytes:
    return call.respond(error_code=NOT_ALLOWED, expiry_timestamp=NO_TIME)


async def describe_tokens(_broker: ServedBroker, call: Call) -> bytes:
    return call.respond(error_code=NOT_ALLOWED, tokens=())
