"""Client metrics subscriptions: their settings, and the request to change one subscription.

    ("producers", (("interval.ms", "5000"), ("metrics", "org.apache.kafka.producer.")))

A subscription exists while it has a setting. No client sends metrics: ApiVersions does not list the
requests of telemetry, as in a Kafka without a plug-in that receives metrics.

Source: KIP-714; ClientMetricsConfigs of Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from reference_impl.protocol.messages import ErrorCode

Subscriptions = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]  # sorted by name, and by key
METRICS, INTERVAL_MS, MATCH = "metrics", "interval.ms", "match"
DEFAULTS: Final[Mapping[str, str]] = {METRICS: "", INTERVAL_MS: "300000", MATCH: ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterClientMetrics:
    """Request: change the settings of a subscription; a broker forwards it to the controller."""

    name: str
    changes: tuple[tuple[str, str | None], ...]  # None removes the setting
    replaces_all: bool = False  # the settings without a change are removed
    validate_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredClientMetrics:
    """Response: the subscription has the new settings, or the error that rejects all of them."""

    error: ErrorCode = ErrorCode.NONE
    message: str = ""


def words(value: str) -> list[str]:
    """Returns the items of a comma-separated setting, without duplicates.

    Kafka: ConfigDef.parseValue.
    """
    found = [word.strip() for word in value.split(",")] if value.strip() else []
    return [*dict.fromkeys(found)]
