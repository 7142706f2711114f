"""The rules for the names of topics.

In the names of metrics, Kafka replaces each period of a topic's name by an underscore. The names of
two topics must differ even after this replacement.

Source: Topic, ReplicationControlManager.validateNewTopicNames.
"""

from __future__ import annotations

import re
from typing import Final

MAX_NAME: Final = 249
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]*")


def invalid_name(topic: str) -> str:
    """Returns Kafka's error message for an invalid name. Returns "" if the name is valid."""
    reasons = (
        (not topic, "the empty string is not allowed"),
        (topic in {".", ".."}, f"'{topic}' is not allowed"),
        (
            len(topic) > MAX_NAME,
            f"the length of '{topic}' is longer than the max allowed length {MAX_NAME}",
        ),
        (
            _LEGAL.fullmatch(topic) is None,
            f"'{topic}' contains one or more characters other than ASCII alphanumerics, '.', '_' "
            "and '-'",
        ),
    )
    return next((f"Topic name is invalid: {why}" for applies, why in reasons if applies), "")


def collide(topic: str, other: str) -> bool:
    """Returns True if the names differ at most in `.` and `_`. Kafka rejects a topic whose name
    collides with the name of another topic.

    >>> collide("a.b", "a_b"), collide("a.b", "a-b")
    (True, False)
    """
    return topic.replace(".", "_") == other.replace(".", "_")
