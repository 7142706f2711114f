"""Client quotas: the limits of users, client ids and IP addresses. Two examples of the values:

    entity    (("client-id", "app"), ("user", None))      None is the default entity of its type
    quotas    (("producer_byte_rate", 1048576.0), ...)

Quotas are stored and described, but no request is throttled.

Source: KIP-546; ClientQuotaControlManager of Apache Kafka.
"""

from __future__ import annotations

from dataclasses import dataclass

from reference_impl.protocol.messages import ErrorCode

Entity = tuple[tuple[str, str | None], ...]  # type and name, sorted by type
Quotas = tuple[tuple[Entity, tuple[tuple[str, float], ...]], ...]  # sorted by entity and key


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaAlteration:
    """The changes of one entity: the new value of each quota that changes. None removes the
    quota.
    """

    entity: Entity
    changes: tuple[tuple[str, float | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterQuotas:
    alterations: tuple[QuotaAlteration, ...]
    validate_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredQuotas:
    """The results of `AlterQuotas`. For each entity, it has the error that rejects the entity's
    changes (or NONE), and a message.
    """

    results: tuple[tuple[Entity, ErrorCode, str], ...]


def entity_of(parts: dict[str, str | None]) -> Entity:
    """Returns the entity with these parts, such as `{"client-id": "app"}`. Each part has a type and
    a name.
    """
    return tuple(sorted(parts.items()))
