"""The dynamic defaults of all topics, and the request that changes them.

A topic without a setting of its own takes the dynamic default. If this is None, the topic takes the
default of Kafka's configuration (`BUILT_IN`).

Source: KIP-226, KIP-966.
Simplified: the defaults are those of all brokers; a single broker has none of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.topic_settings import TopicSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDefaults(TopicSettings):
    """The dynamic defaults of all topics; None for a default that is not set.

    As in Kafka, the default of min.insync.replicas is set from the start.
    """

    min_insync_replicas: int | None = 1


NO_DEFAULTS: Final = TopicDefaults()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterDefaults:
    """Request: change the named defaults of all topics; a broker forwards it to the controller.

    Topics without the setting get the new default.
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
