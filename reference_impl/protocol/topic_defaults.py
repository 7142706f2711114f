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
    """The dynamic defaults of all topics; None for a default that is not set.

    `at_start` has the defaults that the brokers got at their start. As in Kafka,
    min.insync.replicas always has a dynamic default: the first start of the cluster sets it.
    """

    min_insync_replicas: int | None = 1
    at_start: TopicSettings = NO_SETTINGS

    def changed_values(self) -> dict[str, Any]:
        """Returns the defaults that differ from the built-in ones: field -> value."""
        return {**dict(self.at_start.set_values()), **dict(self.set_values())}

    def value(self, name: str) -> Any:
        """Returns the default of the setting, which a topic without a value of its own gets."""
        return self.changed_values().get(name, BUILT_IN[name])

    def started(self, at_start: TopicSettings, *, is_first: bool) -> TopicDefaults:
        """Returns the defaults after a start of the cluster.

        The settings `at_start` replace those of the previous start. At the first start, the
        min.insync.replicas of `at_start` (if set) also becomes the dynamic default.

        Kafka: ConfigurationControlManager.maybeGenerateElrSafetyRecords.
        """
        least = at_start.min_insync_replicas
        if is_first and least is not None:
            return replace(self, at_start=at_start, min_insync_replicas=least)
        return replace(self, at_start=at_start)


NO_DEFAULTS: Final = TopicDefaults()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterDefaults:
    """Request: change the named defaults of all topics; a broker forwards the request to the
    controller.

    A topic that does not set one of these settings itself gets the new default.
    """

    defaults: TopicSettings  # None for a default that is removed
    names: frozenset[str]  # the fields that change
    validate_only: bool = False

    def applied_to(self, before: TopicDefaults) -> TopicDefaults:
        """Returns the topic defaults after this request.

        A request that only validates changes nothing: the result is `before`.
        """
        if self.validate_only:
            return before
        return replace(before, **{name: getattr(self.defaults, name) for name in self.names})


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredDefaults:
    """Response: the controller has changed the defaults; brokers apply the change later."""

    error: ErrorCode = ErrorCode.NONE
    message: str = ""
