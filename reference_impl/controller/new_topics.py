"""The settings of a new topic: its own ones, else the dynamic defaults of all topics."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Final

from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.topic_config import DEFAULT_LOG_CONFIG, LogConfig
from reference_impl.protocol.topic_defaults import TopicDefaults

_OF_LOG: Final = {field.name for field in fields(LogConfig)}
_NO_TOPIC: Final = CreateTopic(topic="")


def with_defaults(request: CreateTopic, defaults: TopicDefaults) -> CreateTopic:
    """Returns the CreateTopic request, with dynamic defaults for the settings that it lacks.

    A dynamic default is a value that an administrator has set for all topics.
    """
    topic: dict[str, Any] = {}
    log: dict[str, Any] = {}
    for name, value in defaults.set_values():
        is_log = name in _OF_LOG
        holder: Any = request.log_config if is_log else request
        built_in: Any = DEFAULT_LOG_CONFIG if is_log else _NO_TOPIC
        # A value other than the built-in default counts as part of the request.
        is_left_out = getattr(holder, name) == getattr(built_in, name)
        if is_left_out and name not in request.configured:
            (log if is_log else topic)[name] = value
    if not topic and not log:
        return request
    return replace(request, log_config=replace(request.log_config, **log), **topic)
