"""Reads the state of the replicas on Apache Kafka's brokers on this machine, from the brokers'
traces and log folders.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from checkers.systems.apache_kafka.cluster import Cluster
from checkers.systems.system import System
from checkers.trials.moments import Contents, Life, moments, partition_events
from properties.claims.elections import Moment


@dataclass(slots=True)
class Inside:
    """Reads the states of one topic partition from the brokers' traces and log folders.

    This object must be created before the topic is created, because it reads no earlier lines of
    the traces.
    """

    cluster: Cluster
    partition: str  # the name that the brokers use
    contents: Contents = field(default_factory=Contents)
    _begins: dict[int, int] = field(init=False)  # in bytes of each node's trace

    def __post_init__(self) -> None:
        self._begins = {node: _size(self.cluster.trace(node)) for node in self.cluster.nodes}

    def look(self) -> None:
        for broker in self.cluster.brokers:
            self.contents.look(broker, self.cluster.log_dir(broker) / self.partition)

    def moments(self, lives: list[Life], virtual_ms: Callable[[int], int]) -> Iterator[Moment]:
        """Yields the state of the topic partition at its creation and after each change.

        `lives` has the times at which processes of brokers started and ended. `virtual_ms` is a
        function that converts the time of a trace line to virtual time.
        """
        self.look()
        with TemporaryDirectory() as folder:
            traces = [self._trace(node, Path(folder)) for node in self.cluster.nodes]
            events = partition_events(traces, self.partition)
        return moments(events, lives, self.contents, virtual_ms)

    def _trace(self, node: int, folder: Path) -> Path:
        since = folder / f"node-{node}.log"
        with self.cluster.trace(node).open("rb") as trace, since.open("wb") as copy:
            trace.seek(self._begins[node])
            shutil.copyfileobj(trace, copy)
        return since


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def inside_of(system: System, partition: str) -> Inside | None:
    """Returns an object that reads the states of a partition from traces and log folders. Returns
    None if the system writes no traces.
    """
    if not isinstance(system, Cluster) or not system.layout.traced:
        return None
    return Inside(system, partition)
