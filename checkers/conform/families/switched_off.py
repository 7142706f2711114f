"""Requests for what is switched off: access control, delegation tokens and client quotas."""

from __future__ import annotations

from typing import Any, Final

from checkers.conform.families.draw import Draw
from checkers.conform.steps import Send, Topic, raw
from reference_impl.wire.apis import Api

ANY: Final = 1  # resource type, pattern type, operation and permission of a filter
TOPIC, LITERAL, USER, ALL, ALLOW = 2, 3, "User:u", 2, 3
_FILTER: Final = {
    "resource_type_filter": ANY,
    "resource_name_filter": None,
    "pattern_type_filter": ANY,
    "principal_filter": None,
    "host_filter": None,
    "operation": ANY,
    "permission_type": ANY,
}
_ACL: Final = {
    "resource_type": TOPIC,
    "resource_name": "~t",
    "resource_pattern_type": LITERAL,
    "principal": USER,
    "host": "*",
    "operation": ALL,
    "permission_type": ALLOW,
}
REQUESTS: Final[tuple[tuple[Api, dict[str, Any]], ...]] = (
    (Api.DESCRIBE_ACLS, _FILTER),
    (Api.CREATE_ACLS, {"creations": [_ACL, _ACL]}),
    (Api.DELETE_ACLS, {"filters": [_FILTER]}),
    (Api.RENEW_DELEGATION_TOKEN, {"hmac": raw(b"1"), "renew_period": 1000}),
    (Api.EXPIRE_DELEGATION_TOKEN, {"hmac": raw(b"1"), "expiry_time_period": 1000}),
    (Api.DESCRIBE_DELEGATION_TOKEN, {"owners": None}),
    (Api.DESCRIBE_CLIENT_QUOTAS, {"components": [], "strict": False}),
)


def switched_off(draw: Draw) -> tuple[Topic, ...]:
    """Adds one request of each kind, in a random version; it needs no topics."""
    for api, body in REQUESTS:
        version = draw.version(api)
        draw.add(Send(api=api, version=version, body=body, to="node 1", note="switched off"))
    return ()
