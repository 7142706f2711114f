"""The parent's side of a node's process: starts it, calls it, and stops it."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from reference_impl.protocol.messages import NodeId
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.faults.rule import name_of
from reference_impl.wire.serving.processes.channel import Calls, Channel, ChannelClosed, Notices
from reference_impl.wire.serving.processes.settings import NodeSettings

STOPS_WITHIN_S: Final = 5.0
ROOT: Final = str(Path(__file__).parents[4])
PROGRAM: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from reference_impl.wire.serving.processes.node_process import main; main()"
)


class NodeEnded(OSError):
    """Raised if the node's process ends before it answers. The message contains the reason, if
    it is known.
    """


@dataclass(slots=True, kw_only=True)
class NodeProcess:
    """The process of a node, as its parent process controls it.

    `ended` is called with this object when the process has ended for any reason.
    """

    node: NodeId
    note: Callable[[str], None]
    ended: Callable[[NodeProcess], None]
    _process: Process
    _channel: Channel
    _serving: asyncio.Task[None] | None = None
    _opened: asyncio.Event = field(default_factory=asyncio.Event)
    _why: str = "its process has ended"
    is_stopping: bool = field(default=False, init=False)

    @classmethod
    async def start(
        cls,
        node: NodeId,
        note: Callable[[str], None],
        ended: Callable[[NodeProcess], None],
        failed: Callable[[Exception], object],
        calls: Calls,
        notices: Notices,
    ) -> NodeProcess:
        """Starts the process of a node. The process may call the functions in `calls` and
        `notices`.

        `note` is called with each line that the process logs. `failed` is called with each
        exception of a called function.
        """
        ours, theirs = socket.socketpair()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-c", PROGRAM, ROOT,
            stdin=theirs.fileno(),
            stdout=DEVNULL,
            start_new_session=True,  # Ctrl-C is for the parent, which then stops its nodes
        )  # fmt: skip
        theirs.close()
        channel = Channel(calls, {}, failed)
        child = cls(node=node, note=note, ended=ended, _process=process, _channel=channel)
        channel.notices = {**notices, "note": child._note, "cannot": child._cannot}
        await channel.open(ours)
        child._serving = asyncio.create_task(child._serve())
        return child

    @property
    def name(self) -> str:
        return name_of(self.node)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_up(self) -> bool:
        """True until the process has ended, or until `kill` or `stop` begins to end it."""
        return not self.is_stopping and self._process.returncode is None

    @property
    def exit_code(self) -> int | None:
        """The exit code of the process, which is negative after a signal. It is None while the
        process runs.
        """
        return self._process.returncode

    async def open(self, settings: NodeSettings) -> tuple[Address | None, Address]:
        """Returns the node's addresses for clients and for other nodes, after the node listens
        at them. Raises NodeEnded if the process ends.
        """
        found: tuple[Address | None, Address] = await self._called("open", settings)
        self._opened.set()
        return found

    async def call(self, name: str, *args: Any) -> Any:
        """Calls a function of the node, after `open` has finished. Raises NodeEnded if the
        process ends.
        """
        await self._opened.wait()
        return await self._called(name, *args)

    async def _called(self, name: str, *args: Any) -> Any:
        try:
            return await self._channel.call(name, *args)
        except ChannelClosed as closed:
            raise NodeEnded(f"{self.name}: {self._why}") from closed

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal, unless the process has ended."""
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def stop(self) -> None:
        """Ends the process cleanly, and kills it if it has not ended after 5 seconds. SIGCONT is
        sent first, because the process may be suspended.
        """
        self.is_stopping = True
        self._channel.finish()
        self.signal(signal.SIGCONT)
        await self._end()

    async def kill(self) -> None:
        """Kills the process, and waits until it has ended."""
        self.is_stopping = True
        self.signal(signal.SIGKILL)
        await self._end()

    async def _end(self) -> None:
        try:
            await asyncio.wait_for(asyncio.shield(self._process.wait()), STOPS_WITHIN_S)
        except TimeoutError:
            self.note(f"{self.name} does not stop, and is killed")
            self.signal(signal.SIGKILL)
        if self._serving is not None:
            await self._serving

    async def _serve(self) -> None:
        await self._channel.serve()
        await self._process.wait()
        self._opened.set()  # wakes those that wait; their calls fail
        await self._channel.close()
        self.ended(self)

    def _note(self, line: str) -> None:
        self.note(f"{self.name}: {line}")

    def _cannot(self, why: str) -> None:
        self._why = why
