"""The settings of the suite `retention`, by name. A setting is the configuration of a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from reference_impl.protocol.topic_config import LogConfig

LIMIT_MS: Final = 1_000
SEGMENT_BYTES: Final = 160  # two records
KEEPS: Final = LogConfig(retention_ms=LIMIT_MS, segment_bytes=SEGMENT_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A configuration of a run: the retention of the topic, and the time for which readers
    expect to find a record.
    """

    condition: str
    log_config: LogConfig = KEEPS
    promised_ms: int = LIMIT_MS


SETTINGS: Final = {
    "away for less": Setting(
        condition=f"records are kept for {LIMIT_MS} ms, and readers expect that"
    ),
    "away for longer": Setting(
        condition=f"records are kept for {LIMIT_MS} ms, but readers expect five times as long",
        promised_ms=5 * LIMIT_MS,
    ),
    "by size": Setting(
        condition="retention.bytes also deletes the oldest segments, at any age",
        log_config=replace(KEEPS, retention_bytes=SEGMENT_BYTES),
    ),
}
