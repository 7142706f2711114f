"""The default settings of all topics, and the request that changes the dynamic defaults.

If a topic does not have a setting itself, it gets the first of these values that is set:

    the dynamic default        a request set it for all brokers
    the default at the start   the brokers were started with it
    the built-in default       `BUILT_IN`, the default of Kafka's configuration

Source: KIP-226, KIP-966.
Simplified: all brokers have the same defaults. A default cannot be set for a single broker.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.topic_settings import BUILT_IN, NO_SETTINGS, TopicSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDefaults(TopicSettings):
    """The dynamic defaults of all topics. A default that is not set is None.

    `at_start` has the defaults with which the brokers were started. As in Kafka, the first start
    sets the dynamic default of min.insync.replicas: to its value in `at_start`, or else to 1.
    """

    min_insync_replicas: int | None = 1
    at_start: TopicSettings = NO_SETTINGS

    def changed_values(self) -> dict[str, Any]:
        """Returns the defaults that were set dynamically or at the start, by the name of the
        field.
        """
        return {**dict(self.at_start.set_values()), **dict(self.set_values())}

    def value(self, name: str) -> Any:
        """Returns the value of the setting `name` for a topic that does not have the setting
        itself.
        """
        return self.changed_values().get(name, BUILT_IN[name])

    def started(self, at_start: TopicSettings, *, is_first: bool) -> TopicDefaults:
        """Returns the defaults after a start of the brokers. `at_start` replaces the settings of
        the previous start.

        At the first start, the min.insync.replicas of `at_start`, if it is set, also becomes the
        dynamic default.

        Kafka: ConfigurationControlManager.maybeGenerateElrSafetyRecords.
        """
        least = at_start.min_insync_replicas
        if is_first and least is not None:
            return replace(self, at_start=at_start, min_insync_replicas=least)
        return replace(self, at_start=at_start)


NO_DEFAULTS: Final = TopicDefaults()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterDefaults:
    """A request that changes dynamic defaults. A topic that does not have the setting itself gets
    the new default.
    """

    defaults: TopicSettings  # None for a default that is removed
    names: frozenset[str]  # the fields that change
    validate_only: bool = False

    def applied_to(self, before: TopicDefaults) -> TopicDefaults:
        """Returns the defaults after the request. If the request has `validate_only`, returns
        `before`.
        """
        if self.validate_only:
            return before
        return replace(before, **{name: getattr(self.defaults, name) for name in self.names})


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredDefaults:
    error: ErrorCode = ErrorCode.NONE
    message: str = ""
