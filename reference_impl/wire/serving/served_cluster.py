"""The interface to a served cluster, in one process or with a process for each broker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from model.vocabulary import BrokerId
from reference_impl.wire.faults.cluster_faults import Faulty

if TYPE_CHECKING:
    from reference_impl.wire.control.port import ControlPort


class ServedCluster(Faulty, Protocol):
    """A cluster that starts and stops; its brokers can die and start again."""

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
        """The process id of the controller, if it has a process of its own and runs."""
        ...

    @property
    def failures(self) -> list[Exception]:
        """The errors that end the cluster with an exception."""
        ...

    async def start(self) -> None: ...

    async def calm(self) -> None: ...

    async def stop(self) -> None: ...
