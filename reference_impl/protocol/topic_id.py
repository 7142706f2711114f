"""Topic ids, computed from the name of a topic.

Source: KIP-516.
Simplified: Kafka's controller draws a random id and stores it.
"""

from __future__ import annotations

from functools import cache
from uuid import NAMESPACE_URL, UUID, uuid5


@cache
def topic_id(topic: str, incarnation: int = 0) -> UUID:
    """Returns the id of a topic. `incarnation` is the number of earlier topics of this name that
    were deleted.
    """
    again = f":{incarnation}" if incarnation else ""
    return uuid5(NAMESPACE_URL, f"topic:{topic}{again}")
