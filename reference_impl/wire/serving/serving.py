"""Serves a cluster in a thread of this process, or with a process for each broker.

with serving(ServeOptions(applied_log=path)) as cluster:
    ...  # clients of cluster.bootstrap_servers
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass
from typing import Final

from model.vocabulary import BrokerId
from reference_impl.protocol.messages import NodeId
from reference_impl.wire.faults.rule import CONTROLLER_NAME, Node, node_of
from reference_impl.wire.nodes.state_lines import state_lines
from reference_impl.wire.serving.options import CannotServe, ServeOptions
from reference_impl.wire.serving.serve import Cluster, serve
from reference_impl.wire.serving.served_cluster import ServedCluster

STATE_WITHIN_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Served:
    """A cluster in a thread of its own; `notes` has its log lines so far."""

    notes: list[str]
    _cluster: ServedCluster
    _loop: asyncio.AbstractEventLoop

    @property
    def bootstrap_servers(self) -> str:
        return self._cluster.bootstrap_servers

    @property
    def control_port(self) -> int | None:
        """None if the cluster has no control port."""
        return None if self._cluster.control is None else self._cluster.control.port

    @property
    def pids(self) -> Mapping[BrokerId, int]:
        """Empty if all brokers are in this process."""
        return self._cluster.pids

    @property
    def controller_pid(self) -> int | None:
        """None if the controller is down, or has no process of its own."""
        return self._cluster.controller_pid

    def kill(self, node: Node) -> None:
        """Kills a node; `"controller"` needs a process of its own."""
        self._run(self._cluster.kill(self._of_process(node)))

    def lose_power(self, broker_id: BrokerId) -> None:
        """Kills the broker if it is up; records that were not flushed are gone."""
        self._run(self._cluster.lose_power(broker_id))

    def start(self, node: Node) -> None:
        """Raises CannotServe if the node's port was taken."""
        self._run(self._cluster.restart(self._of_process(node)))

    def await_calm(self) -> None:
        """Waits until every broker is registered; raises TimeoutError after 20 s."""
        self._run(self._cluster.calm())

    def state(self) -> list[str]:
        """Lines that describe the brokers and topic partitions; none with a process for each node.

        After 10 s without an answer of the event loop, the only line says so.
        """

        async def described() -> list[str]:
            cluster = self._cluster
            return state_lines(cluster.host) if isinstance(cluster, Cluster) else []

        future = asyncio.run_coroutine_threadsafe(described(), self._loop)
        try:
            return future.result(STATE_WITHIN_S)
        except TimeoutError:
            return [f"the event loop of the cluster did not answer within {STATE_WITHIN_S:.0f} s"]

    def _of_process(self, node: Node) -> NodeId:
        if node == CONTROLLER_NAME and not self._cluster.processes:
            raise CannotServe("the controller has a process of its own only with `processes`")
        return node_of(node)

    def _run(self, work: Coroutine[object, object, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()


@contextlib.contextmanager
def serving(options: ServeOptions) -> Generator[Served]:
    """Serves the cluster in a thread in the block; at the end raises its exception, if any."""
    ready: list[Served] = []
    notes: list[str] = []
    failed: list[BaseException] = []
    begun = threading.Event()  # from now on it can be stopped
    settled = threading.Event()
    stops: list[Callable[[], object]] = []

    async def until_stopped() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        stops.append(lambda: loop.call_soon_threadsafe(stop.set))
        begun.set()

        def on_ready(cluster: ServedCluster) -> None:
            ready.append(Served(notes, cluster, loop))
            settled.set()

        await serve(options, on_ready=on_ready, note=notes.append, stop=stop)

    def run() -> None:
        try:
            asyncio.run(until_stopped())
        except BaseException as error:
            failed.append(error)
        finally:
            begun.set()
            settled.set()

    thread = threading.Thread(target=run, name="reference broker")
    thread.start()
    try:
        settled.wait()  # inside: an interrupt while it starts must not leave it running
        if ready:
            yield ready[0]
    finally:
        begun.wait()
        for stop in stops if thread.is_alive() else ():
            with contextlib.suppress(RuntimeError):  # the loop ended by itself in between
                stop()
        thread.join()
    if failed:
        raise failed[0]
