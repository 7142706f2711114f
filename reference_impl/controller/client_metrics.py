"""Changes the client metrics subscriptions at the controller. The controller checks a change, and
rejects it with one of these errors:

    no name, an unknown setting, an interval out of range          INVALID_REQUEST
    a value of the wrong type, an empty item, an illegal pattern   INVALID_CONFIG

Source: KIP-714; ClientMetricsConfigs.validate, ConfigDef.ValidList and
ConfigurationControlManager.validateAlterConfig of Apache Kafka.
Simplified: the pattern that selects clients is a regular expression in Python's syntax. Kafka uses
Java's syntax.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from reference_impl.protocol.client_metrics import (
    DEFAULTS,
    INTERVAL_MS,
    MATCH,
    METRICS,
    AlterClientMetrics,
    AlteredClientMetrics,
    Subscriptions,
    words,
)
from reference_impl.protocol.messages import ErrorCode

PROPERTIES: Final = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)
LEAST_MS, MOST_MS = 100, 3_600_000
LARGEST_INT: Final = 2**31 - 1
LONGEST: Final = 2**15 - 1
Refusal = tuple[ErrorCode, str]


def alter_client_metrics(
    before: Subscriptions, request: AlterClientMetrics
) -> tuple[Subscriptions, AlteredClientMetrics]:
    """Returns the subscriptions after the request, and the response.

    The subscriptions are unchanged if the request is rejected or has `validate_only`.
    """
    known = dict(before)
    settings = {} if request.replaces_all else dict(known.get(request.name, ()))
    for key, value in request.changes:
        settings.pop(key, None)
        if value is not None:
            settings[key] = value
    for error, why in _refusals(request.name, settings):
        return before, AlteredClientMetrics(error=error, message=why)
    if request.validate_only:
        return before, AlteredClientMetrics()
    known[request.name] = tuple(sorted(settings.items()))
    return tuple(sorted(one for one in known.items() if one[1])), AlteredClientMetrics()


def _refusals(name: str, settings: Mapping[str, str]) -> Iterator[Refusal]:
    invalid = ErrorCode.INVALID_CONFIG
    if any(len(value) > LONGEST for value in settings.values()):
        size = f"exceeds the maximum value size of {LONGEST} bytes."
        yield invalid, f"The configuration value cannot be added because it {size}"
    if not name:
        yield ErrorCode.INVALID_REQUEST, "Subscription name can't be empty"
    for key in settings.keys() - DEFAULTS.keys():
        yield ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {key}"
    for key in (METRICS, MATCH):
        if "" in words(settings.get(key, "")):
            yield invalid, f"Configuration '{key}' values must not be empty."
    yield from _refused_interval(settings.get(INTERVAL_MS, DEFAULTS[INTERVAL_MS]).strip())
    for pattern in words(settings.get(MATCH, "")):
        if not _is_legal(pattern):
            yield invalid, f"Illegal client matching pattern: {pattern}"


def _refused_interval(value: str) -> Iterator[Refusal]:
    if not re.fullmatch("[+-]?[0-9]{1,10}", value) or abs(int(value)) > LARGEST_INT:
        why = f"Invalid value {value} for configuration {INTERVAL_MS}: Not a number of type INT"
        yield ErrorCode.INVALID_CONFIG, why
    elif not LEAST_MS <= int(value) <= MOST_MS:
        limits = f"interval must be between {LEAST_MS} and {MOST_MS} (1 hour)"
        yield ErrorCode.INVALID_REQUEST, f"Invalid value {value} for {INTERVAL_MS}, {limits}"


def _is_legal(pattern: str) -> bool:
    parts = pattern.rstrip("=").split("=")  # as in Java, no empty parts at the end
    if len(parts) != 2 or parts[0].strip() not in PROPERTIES:
        return False
    try:
        re.compile(parts[1].strip())
    except re.error:
        return False
    return True
