"""The parent's side of a broker's process: starts it, reads its lines, and stops it."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from model.vocabulary import BrokerId
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.serving.processes.broker_process import BrokerSettings, Places, sent

STOPS_WITHIN_S: Final = 5.0
LONGEST_LINE: Final = 1 << 20
ROOT: Final = str(Path(__file__).parents[4])
PROGRAM: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from reference_impl.wire.serving.processes.broker_process import main; main()"
)


class NotStarted(OSError):
    """The error if a broker's process ends before it is ready; the message says why, if known."""


@dataclass(slots=True, kw_only=True)
class BrokerProcess:
    """A running process of a broker.

    When the process has ended for any reason, the function `ended` is called with this object.
    """

    broker_id: BrokerId
    note: Callable[[str], None]
    ended: Callable[[BrokerProcess], None]
    _process: Process
    _listens: asyncio.Future[tuple[Address, Address]]  # for clients, and for other nodes
    _ready: asyncio.Future[None]
    _reading: asyncio.Task[None] | None = None
    _why: str = "it ended before it was ready"
    is_stopping: bool = field(default=False, init=False)

    @classmethod
    async def start(
        cls,
        settings: BrokerSettings,
        note: Callable[[str], None],
        ended: Callable[[BrokerProcess], None],
    ) -> BrokerProcess:
        loop = asyncio.get_running_loop()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-c", PROGRAM, ROOT,
            stdin=PIPE,
            stdout=PIPE,
            limit=LONGEST_LINE,
            start_new_session=True,  # Ctrl-C is for the parent, which then stops its brokers
        )  # fmt: skip
        broker = cls(
            broker_id=settings.broker_id,
            note=note,
            ended=ended,
            _process=process,
            _listens=loop.create_future(),
            _ready=loop.create_future(),
        )
        broker._write(sent(settings))
        broker._reading = asyncio.create_task(broker._read())
        return broker

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.returncode is not None

    @property
    def exit_code(self) -> int | None:
        """The exit code, or the negative number of the signal; None while the process runs."""
        return self._process.returncode

    async def listens(self) -> tuple[Address, Address]:
        """Returns where the broker listens for clients and for nodes; raises NotStarted."""
        return await self._listens

    def go(self, places: Places) -> None:
        """Lets the broker begin to register and to serve."""
        self._write(sent(places))

    async def ready(self) -> None:
        """Waits until the broker is registered and knows all brokers; raises NotStarted."""
        await self._ready

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to the process, if it still runs."""
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def stop(self) -> None:
        """Lets the process stop cleanly, and kills it after 5 s; also ends a process at SIGSTOP."""
        self.is_stopping = True
        assert self._process.stdin is not None, "the process has a pipe"
        self._process.stdin.close()
        self.signal(signal.SIGCONT)
        await self._end()

    async def kill(self) -> None:
        """Kills the process, and waits until it is gone."""
        self.is_stopping = True
        self.signal(signal.SIGKILL)
        await self._end()

    async def _end(self) -> None:
        try:
            await asyncio.wait_for(asyncio.shield(self._process.wait()), STOPS_WITHIN_S)
        except TimeoutError:
            self.note(f"broker {self.broker_id} does not stop, and is killed")
            self.signal(signal.SIGKILL)
        if self._reading is not None:
            await self._reading

    def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None, "the process has a pipe"
        self._process.stdin.write(data)

    async def _read(self) -> None:
        assert self._process.stdout is not None, "the process has a pipe"
        while line := await self._process.stdout.readline():
            match json.loads(line):
                case {"listens": clients, "link": link}:
                    self._listens.set_result((_address(clients), _address(link)))
                case {"ready": _}:
                    self._ready.set_result(None)
                case {"cannot": why}:
                    self._why = why
                case other:
                    self.note(f"broker {self.broker_id}: {other['note']}")
        await self._process.wait()
        error = NotStarted(f"broker {self.broker_id}: {self._why}")
        for promise in (self._listens, self._ready):
            if not promise.done():
                promise.set_exception(error)
                promise.exception()  # nobody may wait for it
        self.ended(self)


def _address(value: list[str | int]) -> Address:
    host, port = value
    return str(host), int(port)
