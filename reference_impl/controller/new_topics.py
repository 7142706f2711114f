"""Completes the settings of a new topic: a setting that the request does not set gets the default
of all topics.
"""

from __future__ import annotations

from dataclasses import replace

from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.topic_defaults import TopicDefaults
from reference_impl.protocol.topic_settings import BUILT_IN, parted, value_of


def with_defaults(request: CreateTopic, defaults: TopicDefaults) -> CreateTopic:
    of_topic, of_log = parted(
        {
            name: value
            for name, value in defaults.changed_values().items()
            # A value other than the built-in default counts as part of the request.
            if value_of(request, name) == BUILT_IN[name] and name not in request.configured
        }
    )
    if not of_topic and not of_log:
        return request
    return replace(request, log_config=replace(request.log_config, **of_log), **of_topic)
