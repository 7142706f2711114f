"""The interface of a cluster whose nodes run in this process, or each in a process of its own."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from model.vocabulary import BrokerId
from reference_impl.wire.faults.cluster_faults import Faulty

if TYPE_CHECKING:
    from reference_impl.wire.control.port import ControlPort


class ServedCluster(Faulty, Protocol):
    """A cluster that clients reach over the network. Its brokers can die and start again."""

    @property
    def bootstrap_servers(self) -> str: ...

    @property
    def control(self) -> ControlPort | None: ...

    @property
    def pids(self) -> Mapping[BrokerId, int]:
        """The process id of each broker that has a process of its own and runs."""
        ...

    @property
    def controller_pid(self) -> int | None:
        """The process id of the controller, or None if it is down or has no process of its own."""
        ...

    @property
    def failures(self) -> list[Exception]:
        """The errors of the cluster itself, such as a bug in a node. `serve` raises the first
        error.
        """
        ...

    async def start(self) -> None: ...

    def read_records_with(self, library: Path) -> Coroutine[Any, Any, None]:
        """Reads record batches with this compiled library from now on."""
        ...

    async def calm(self) -> None: ...

    async def stop(self) -> None: ...
