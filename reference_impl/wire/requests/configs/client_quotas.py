"""Handles AlterClientQuotas and DescribeClientQuotas requests.

Quotas are stored and described, but no request is throttled.

Source: KIP-546; ClientQuotaControlManager, ClientQuotasImage.describe of Apache Kafka.
"""

from __future__ import annotations

from typing import Any, Final

from reference_impl.protocol.client_quotas import (
    AlteredQuotas,
    AlterQuotas,
    Entity,
    QuotaAlteration,
    entity_of,
)
from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.adapter import Call
from reference_impl.wire.requests.broker.served_broker import ServedBroker, image, request_core
from reference_impl.wire.requests.configs.broker_configs import Refused

EXACT, DEFAULT, SPECIFIED = range(3)  # match types
TYPES: Final = frozenset({"user", "client-id", "ip"})
_MATCHES: Final = {EXACT: "EXACT", DEFAULT: "DEFAULT", SPECIFIED: "SPECIFIED"}


async def alter_client_quotas(broker: ServedBroker, call: Call) -> bytes:
    alterations = tuple(
        QuotaAlteration(
            entity=entity_of({part.entity_type: part.entity_name for part in one.entity}),
            changes=tuple((op.key, None if op.remove else op.value) for op in one.ops),
        )
        for one in call.body.entries
    )
    request = AlterQuotas(alterations=alterations, validate_only=call.body.validate_only)
    answer = await request_core(broker, request, AlteredQuotas)
    return call.respond(
        entries=tuple(
            call.make(
                "EntryData",
                error_code=error,
                error_message=message or None,
                entity=_entity(call, entity),
            )
            for entity, error, message in answer.results
        )
    )


async def describe_client_quotas(broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to DescribeClientQuotas.

    The response describes each entity that matches all components of the filter. If the filter is
    strict, the entity must not have further components.
    """
    try:
        wanted = _filter(call.body.components)
    except Refused as fault:
        return call.respond(error_code=fault.error, error_message=str(fault), entries=None)
    found = [
        (entity, values)
        for entity, values in (await image(broker)).quotas
        if _matches(entity, wanted, is_strict=call.body.strict)
    ]
    return call.respond(
        error_code=0,
        error_message=None,
        entries=tuple(
            call.make(
                "EntryData",
                entity=_entity(call, entity),
                values=tuple(call.make("ValueData", key=key, value=value) for key, value in values),
            )
            for entity, values in found
        ),
    )


def _filter(components: Any) -> dict[str, tuple[int, str | None]]:
    """Returns the match type and the name for each entity type. Raises Refused for an invalid
    filter.
    """
    found: dict[str, tuple[int, str | None]] = {}
    for one in components:
        kind, match_type = one.entity_type, one.match_type
        word = f"MATCH_TYPE_{_MATCHES.get(match_type)}"
        reasons = (
            (not kind, "Invalid empty entity type."),
            (kind in found, f"Entity type {kind} cannot appear more than once in the filter."),
            (kind and kind not in TYPES, f"Unsupported entity type {kind}"),
            (match_type not in _MATCHES, f"Unknown match type {match_type}"),
            (
                match_type == EXACT and one.match is None,
                f"Request specified {word}, but set match string to null.",
            ),
            (
                match_type != EXACT and one.match is not None,
                f"Request specified {word}, but also specified a match string.",
            ),
        )
        why = next((text for applies, text in reasons if applies), None)
        if why is not None:
            is_unknown = why.startswith("Unsupported")
            error = ErrorCode.UNSUPPORTED_VERSION if is_unknown else ErrorCode.INVALID_REQUEST
            raise Refused(error, why)
        found[kind] = (match_type, one.match)
    if "ip" in found and len(found) > 1:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            "Invalid entity filter component combination. IP filter component should not be used"
            " with user or clientId filter component.",
        )
    return found


def _matches(entity: Entity, wanted: dict[str, tuple[int, str | None]], *, is_strict: bool) -> bool:
    names = dict(entity)
    if is_strict and len(names) != len(wanted):
        return False
    return all(
        kind in names and (match_type == SPECIFIED or names[kind] == name)
        for kind, (match_type, name) in wanted.items()
    )


def _entity(call: Call, entity: Entity) -> tuple[Any, ...]:
    return tuple(
        call.make("EntityData", entity_type=kind, entity_name=name) for kind, name in entity
    )
