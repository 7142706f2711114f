"""The process of one node: `main` runs it, and the module `child` starts it.

Each line shows a message between the parent process and the process of the node:

    sender   name     content
    parent   open     the settings of the node; the answer has the addresses at which it listens
    parent   begin    the addresses of all nodes; the node starts
    node     cannot   the reason why the process cannot start
    node     note     a line for the log

The channel (module `channel`) is the standard input of the process, which is a socket. So the
secret of the cluster is in no argument and no environment variable.

The node stops when the parent process closes the channel or ends. On Linux, the kernel kills the
node at the end of the parent process, even if SIGSTOP has stopped the node. SIGTERM and SIGINT shut
a broker down, as in Kafka.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Coroutine
from typing import Any, Final

from model.faults import InputFault
from reference_impl.protocol.messages import CONTROLLER
from reference_impl.wire.connections.in_flight import allow_open_files
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.memory.freed_memory import keep_freed_memory
from reference_impl.wire.serving.processes.channel import Channel
from reference_impl.wire.serving.processes.node import BrokerNode, ControllerNode, Node
from reference_impl.wire.serving.processes.settings import NodeSettings

PR_SET_PDEATHSIG: Final = 1
FAILED: Final = 1  # exit codes: a bug of the node; the process could not start
CANNOT_START: Final = 2


def main() -> None:
    """Runs the node whose settings arrive over standard input, which is a socket."""
    _die_with_parent()
    keep_freed_memory()
    sys.exit(asyncio.run(_Running().run()))


def _die_with_parent() -> None:
    if sys.platform != "linux":
        return  # the node stops when the channel ends
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(FAILED)  # the parent ended before the call


class _Running:
    def __init__(self) -> None:
        self._node: Node | None = None
        self._stop = asyncio.Event()
        self._shuts_down = False
        self._exit_code = 0
        self._calls: dict[str, Callable[..., Coroutine[Any, Any, Any]]] = {"open": self._open}
        self._parent = Channel(self._calls, {}, self._fail)

    async def run(self) -> int:
        """Runs the node until the parent process closes the channel or a signal arrives. Returns
        the exit code.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._shut_down)
        await self._parent.open(socket.socket(fileno=os.dup(sys.stdin.fileno())))
        serving = asyncio.create_task(self._parent.serve())
        serving.add_done_callback(lambda _: self._stop.set())
        await self._stop.wait()
        if self._node is not None:
            if self._shuts_down and not serving.done() and not self._exit_code:
                await self._node.shut_down()
            await self._node.stop()
            if self._node.host.failures:
                self._exit_code = FAILED
        await self._parent.close()
        return self._exit_code

    async def _open(self, settings: NodeSettings) -> tuple[Address | None, Address]:
        allow_open_files(settings.options.in_flight.connections)
        kind = ControllerNode if settings.node == CONTROLLER else BrokerNode
        self._node = kind(settings, self._parent)
        self._calls.update(self._node.calls)
        return await self._node.listen()

    def _shut_down(self) -> None:
        self._shuts_down = True
        self._stop.set()

    def _fail(self, error: Exception) -> None:
        if isinstance(error, InputFault):  # of the data directory, of a port
            self._parent.notify("cannot", str(error))
            self._exit_code = CANNOT_START
        else:
            self._parent.notify("note", "".join(traceback.format_exception(error)))
            self._exit_code = FAILED
        self._stop.set()
