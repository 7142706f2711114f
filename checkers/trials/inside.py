"""Looks inside the brokers of Apache Kafka on this machine: their traces and their log folders.

Only a traced cluster shows the states of replicas. Kafka before 4.0 writes other lines, which
`urteil trace` does not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from checkers.systems.apache_kafka.cluster import Cluster
from checkers.systems.system import System
from checkers.trials.moments import Contents, Life, moments, partition_events
from properties.claims.elections import Moment


@dataclass(slots=True)
class Inside:
    """The traces and log folders of one partition, which is named as on the wire."""

    cluster: Cluster
    partition: str
    contents: Contents = field(default_factory=Contents)

    def look(self) -> None:
        """Reads the records that the log folders have now."""
        for broker in self.cluster.brokers:
            self.contents.look(broker, self.cluster.log_dir(broker) / self.partition)

    def moments(self, lives: list[Life], virtual_ms: Callable[[int], int]) -> Iterator[Moment]:
        """Yields the states of the partition since its creation."""
        self.look()
        events = partition_events(self._traces, self.partition)
        return moments(events, lives, self.contents, virtual_ms)

    @property
    def _traces(self) -> list[Path]:
        return [self.cluster.trace(node) for node in self.cluster.nodes]


def inside_of(system: System, partition: str) -> Inside | None:
    """Returns the view of one partition; None if the system shows no states of replicas."""
    if not isinstance(system, Cluster) or not system.layout.traced:
        return None
    return Inside(system, partition)
