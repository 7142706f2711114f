"""Changes the client quotas at the controller. The controller checks each entity and each change,
and rejects them with these errors:

    entity   empty, of an unknown type, or an IP with a user or client id   INVALID_REQUEST
    change   an unknown key, or a value that is not valid for the key       INVALID_REQUEST

If one change of an entity is rejected, all changes of this entity are rejected. The changes of all
other entities take effect.

Source: KIP-546, KIP-612 (IP addresses), KIP-599 (controller_mutation_rate);
ClientQuotaControlManager of Apache Kafka.
Simplified: the name of an IP entity must be an IP address. Kafka also accepts a host name and
resolves it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Final

from reference_impl.protocol.client_quotas import (
    AlteredQuotas,
    AlterQuotas,
    Entity,
    QuotaAlteration,
    Quotas,
)
from reference_impl.protocol.messages import ErrorCode

USER, CLIENT_ID, IP = "user", "client-id", "ip"
ANY: Final = None
# The largest whole number of a key; ANY: the value may be a fraction of any size.
OF_CLIENTS: Final[Mapping[str, int | None]] = {
    "producer_byte_rate": 2**63 - 1,
    "consumer_byte_rate": 2**63 - 1,
    "request_percentage": ANY,
    "controller_mutation_rate": ANY,
}
OF_IP: Final[Mapping[str, int | None]] = {"connection_creation_rate": 2**31 - 1}
_FRACTION: Final = 1e-6


def alter_quotas(before: Quotas, request: AlterQuotas) -> tuple[Quotas, AlteredQuotas]:
    quotas = {entity: dict(values) for entity, values in before}
    results: dict[Entity, str] = {}
    for one in request.alterations:
        entity, keys = one.entity, [key for key, _ in one.changes]
        if entity in results or len({*keys}) < len(keys):
            results[entity] = f"Ignoring duplicate entity {_text(entity)}"
            continue
        results[entity] = _refusal(one)
        if results[entity]:
            continue
        values = quotas.setdefault(entity, {})
        for key, value in one.changes:
            values.pop(key, None)
            if value is not None:
                values[key] = value
    answer = AlteredQuotas(
        results=tuple(
            (entity, ErrorCode.INVALID_REQUEST if why else ErrorCode.NONE, why)
            for entity, why in results.items()
        )
    )
    return before if request.validate_only else _sorted(quotas), answer


def _sorted(quotas: Mapping[Entity, Mapping[str, float]]) -> Quotas:
    entities = sorted(quotas, key=lambda one: [(kind, name or "") for kind, name in one])
    return tuple((one, tuple(sorted(quotas[one].items()))) for one in entities if quotas[one])


def _refusal(alteration: QuotaAlteration) -> str:
    names = dict(alteration.entity)
    unknown = [kind for kind in names if kind not in {USER, CLIENT_ID, IP}]
    reasons = (
        (not names, "Invalid empty client quota entity"),
        (unknown, f"Unhandled client quota entity type: {', '.join(unknown)}"),
        *((name == "", f"Empty {kind} not supported") for kind, name in names.items()),
        (
            IP in names and len(names) > 1,
            "Invalid quota entity combination, IP entity should"
            "not be combined with User or ClientId",
        ),
        (
            IP in names and not _is_address(names[IP]),
            f"{names.get(IP)} is not a valid IP or resolvable host.",
        ),
    )
    why = next((text for applies, text in reasons if applies), "")
    return why or _refused_value(OF_IP if IP in names else OF_CLIENTS, alteration.changes)


def _refused_value(
    keys: Mapping[str, int | None], changes: Iterable[tuple[str, float | None]]
) -> str:
    for key, value in changes:
        if value is None:
            continue  # a removal, also of a key that does not exist
        if key not in keys:
            return f"Invalid configuration key {key}"
        if value <= 0:
            return f"Quota {key} must be greater than 0"
        largest = keys[key]
        if largest is not None and value > largest:
            kind = "INT" if largest < 2**31 else "LONG"
            return f"Proposed value for {key} is too large for a {kind}."
        if largest is not None and value % 1 > _FRACTION:
            return f"{key} cannot be a fractional value."
    return ""


def _is_address(name: str | None) -> bool:
    if name is None:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _text(entity: Entity) -> str:
    return f"ClientQuotaEntity(entries={dict(entity)})"
