"""A fixture for tests of reproductions: a cluster of reference brokers instead of real brokers.

The reference brokers have no processes of their own, so crashes and the like are only recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from checkers.record.processes import Shared, Topic
from checkers.record.store import Described, HistoryWriter
from checkers.reproduce.stage import TOPIC, Stage
from checkers.systems.apache_kafka.power_loss import Lost
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving

OTHER_LOSS = Lost(partition="t-1", first=0, last=9)


@dataclass
class ServedBrokers:
    """A cluster that answers requests. An action on a broker, such as a crash, is recorded and not
    carried out.
    """

    servers: str
    done: list[tuple[str, int]]
    proxies: None = None

    @property
    def brokers(self) -> tuple[int, ...]:
        return tuple(range(1, len(self.servers.split(",")) + 1))

    def address(self, broker: int) -> tuple[str, int]:
        host, port = self.servers.split(",")[broker - 1].split(":")
        return host, int(port)

    def do(self, action: Any, broker: int) -> None:
        self.done.append((action.value, broker))

    def await_brokers(self, *brokers: int) -> None:
        self.done.extend(("await", broker) for broker in brokers)

    def lost(self, broker: int) -> tuple[Lost, ...]:
        losses = self.done.count(("power-loss", broker))
        return (Lost(partition="t-0", first=2, last=4), OTHER_LOSS) * losses


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Yields a cluster of two reference brokers, on which a test takes the steps of a reproduction.

    The stage also has the clients of these steps. The folder `history` has the history of the
    clients.
    """
    described = Described(
        workload="reproduction",
        clients={},
        settings={"isolation": "read_committed", "sub_via": ["assign"]},
        seed=0,
    )
    with (
        serving(ServeOptions(brokers=2)) as served,
        HistoryWriter(tmp_path / "history", described) as history,
    ):
        cluster: Any = ServedBrokers(served.bootstrap_servers, [])
        stage = Stage(cluster, Shared(history), Topic(TOPIC, 1))
        try:
            yield stage
        finally:
            stage.close()
