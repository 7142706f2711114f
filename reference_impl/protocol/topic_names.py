"""Which names a topic may have.

In metrics Kafka replaces each period of a name by an underscore; two names must still differ.

Source: Topic, ReplicationControlManager.validateNewTopicNames.
"""

from __future__ import annotations

import re
from typing import Final

MAX_NAME: Final = 249
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]*")


def invalid_name(topic: str) -> str:
    """Kafka's error message for an invalid name, or ""."""
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
    """Returns True if the names differ at most in `.` and `_`, so Kafka cannot have both topics.

    >>> collide("a.b", "a_b"), collide("a.b", "a-b")
    (True, False)
    """
    return topic.replace(".", "_") == other.replace(".", "_")
