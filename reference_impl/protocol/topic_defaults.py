"""The defaults of all topics, and the request that changes the dynamic ones.

A topic without a setting of its own takes the first of these values:

    the dynamic default        a request set it for all brokers
    the default at the start   the brokers were started with it
    the built-in default       `BUILT_IN`, the default of Kafka's configuration

Source: KIP-226, KIP-966.
Simplified: the defaults are those of all brokers; a single broker has none of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.topic_settings import BUILT_IN, NO_SETTINGS, TopicSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDefaults(TopicSettings):
    """The dynamic defaults of all topics; None for one that is not set.

    `at_start` has the defaults of the brokers' start. As in Kafka, the first start sets a dynamic
    min.insync.replicas.
    """

    min_insync_replicas: int | None = 1
    at_start: TopicSettings = NO_SETTINGS

    def changed_values(self) -> dict[str, Any]:
        """The defaults that differ from the built-in ones: field -> value."""
        return {**dict(self.at_start.set_values()), **dict(self.set_values())}

    def value(self, name: str) -> Any:
        """The value for a topic without one of its own."""
        return self.changed_values().get(name, BUILT_IN[name])

    def started(self, at_start: TopicSettings, *, is_first: bool) -> TopicDefaults:
        """`at_start` replaces the settings of the previous start.

        At the first start, its min.insync.replicas (if set) also becomes the dynamic default.
        Kafka: ConfigurationControlManager.maybeGenerateElrSafetyRecords.
        """
        least = at_start.min_insync_replicas
        if is_first and least is not None:
            return replace(self, at_start=at_start, min_insync_replicas=least)
        return replace(self, at_start=at_start)


NO_DEFAULTS: Final = TopicDefaults()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterDefaults:
    """A topic without a setting of its own gets the new default."""

    defaults: TopicSettings  # None for a default that is removed
    names: frozenset[str]  # the fields that change
    validate_only: bool = False

    def applied_to(self, before: TopicDefaults) -> TopicDefaults:
        """A request that only validates changes nothing."""
        if self.validate_only:
            return before
        return replace(before, **{name: getattr(self.defaults, name) for name in self.names})


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredDefaults:
    error: ErrorCode = ErrorCode.NONE
    message: str = ""
