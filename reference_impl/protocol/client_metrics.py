"""Client metrics subscriptions: their settings, and the request to change one subscription. A
subscription has a name and its settings, for example:

    ("producers", (("interval.ms", "5000"), ("metrics", "org.apache.kafka.producer.")))

A subscription exists while it has a setting. No client sends metrics, because the response to
ApiVersions does not list the requests of telemetry. Kafka without a metrics plug-in behaves in the
same way.

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
    name: str
    changes: tuple[tuple[str, str | None], ...]  # None removes the setting
    replaces_all: bool = False  # the settings without a change are removed
    validate_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredClientMetrics:
    error: ErrorCode = ErrorCode.NONE
    message: str = ""


def words(value: str) -> list[str]:
    """Returns the items of a comma-separated setting, without duplicates. Returns [] for a blank
    setting.

    Kafka: ConfigDef.parseValue.
    """
    found = [word.strip() for word in value.split(",")] if value.strip() else []
    return [*dict.fromkeys(found)]
