"""Lets a fetch wait until one of its topic partitions has more to read.

The line shows the steps of a fetch that finds no data:

    no data -> waits -> a topic partition is readable, or the time is over -> reads again
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from model.vocabulary import TopicPartition


@dataclass(slots=True)
class LongPolls:
    _waiting: dict[TopicPartition, set[asyncio.Future[None]]] = field(default_factory=dict)

    async def readable(
        self,
        topic_partitions: Collection[TopicPartition],
        timeout_ms: int,
        is_unchanged: Callable[[], bool],
    ) -> None:
        """Waits until `wake` is called for one of the topic partitions, or until the timeout has
        passed.

        Returns at once if a topic partition has changed since the caller read it. `is_unchanged`
        returns False in this case.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        for place in topic_partitions:
            self._waiting.setdefault(place, set()).add(future)
        timer = loop.call_later(timeout_ms / 1000, _end_wait, future)
        try:
            if is_unchanged():
                await future
        finally:
            timer.cancel()
            for place in topic_partitions:
                self._waiting[place].discard(future)
                if not self._waiting[place]:
                    del self._waiting[place]

    def wake(self, topic_partition: TopicPartition) -> None:
        for future in self._waiting.get(topic_partition, ()):
            _end_wait(future)

    def wake_all(self) -> None:
        for place in self._waiting:
            self.wake(place)


def _end_wait(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
