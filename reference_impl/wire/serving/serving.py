"""Serves a cluster in a thread of this process, or with a process for each broker.

A test or a script uses the cluster in a block:

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
    """A cluster that runs in a thread of its own. `notes` contains the lines that it has logged
    so far.
    """

    notes: list[str]
    _cluster: ServedCluster
    _loop: asyncio.AbstractEventLoop

    @property
    def bootstrap_servers(self) -> str:
        return self._cluster.bootstrap_servers

    @property
    def control_port(self) -> int | None:
        """The number of the control port, or None if the cluster has no control port."""
        return None if self._cluster.control is None else self._cluster.control.port

    @property
    def pids(self) -> Mapping[BrokerId, int]:
        """The process id of each broker, or an empty mapping if all brokers run in this process."""
        return self._cluster.pids

    @property
    def controller_pid(self) -> int | None:
        """The process id of the controller, or None if it is down or has no process of its own."""
        return self._cluster.controller_pid

    def kill(self, node: Node) -> None:
        """Kills a node. The node `"controller"` can only be killed if it has a process of its
        own.
        """
        self._run(self._cluster.kill(self._of_process(node)))

    def lose_power(self, broker_id: BrokerId) -> None:
        """Kills the broker if it is up. Its records that were not flushed are lost."""
        self._run(self._cluster.lose_power(broker_id))

    def start(self, node: Node) -> None:
        """Starts a node that is down. Raises CannotServe if another process uses its port now."""
        self._run(self._cluster.restart(self._of_process(node)))

    def await_calm(self) -> None:
        """Waits until every broker is registered; raises TimeoutError after 20 s."""
        self._run(self._cluster.calm())

    def state(self) -> list[str]:
        """Returns lines that describe the brokers and topic partitions. Returns no lines if each
        node has a process of its own.

        If the event loop does not answer within 10 seconds, returns one line that reports this.
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
    """Serves the cluster in a thread while the block runs. After the block, raises the exception
    of the cluster, if there is one.
    """
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
