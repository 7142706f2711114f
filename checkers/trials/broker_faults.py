"""The faults on the brokers of one system, for all trials (test runs) on it at the same time.

Starting a cluster takes long, so several trials share one, and a killed broker is down for all of
them. A claim must hold under the allowed kinds of faults, whichever trial injects them. The brokers
recover once all trials are *calm*: they will inject no more faults.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from checkers.systems.system import Ability, System
from checkers.trials.moments import Life
from model.vocabulary import BrokerId


@dataclass(frozen=True, slots=True)
class Inflicted:
    at_ns: int
    fault: str

    @classmethod
    def now(cls, fault: str) -> Inflicted:
        return cls(time.monotonic_ns(), fault)


@dataclass(slots=True)
class BrokerFaults:
    system: System
    inflicted: list[Inflicted] = field(default_factory=list[Inflicted])
    lives: list[Life] = field(default_factory=list[Life])
    opening: int = 0  # trials that still create their topics, which needs every broker
    _down: set[BrokerId] = field(default_factory=set[BrokerId])
    _paused: set[BrokerId] = field(default_factory=set[BrokerId])
    _restless: set[str] = field(default_factory=set[str])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    # ------------------------------------------------------------ trials

    def join(self, trial: str) -> None:
        """Registers a trial (a test run), which may inject faults until `calm` is called for it."""
        with self._lock:
            self._restless.add(trial)

    def opened(self) -> None:
        """Counts a trial (a test run) that has created its topics, or has failed to create them.

        Trials that start together wait for this, because faults would disturb the creation of
        topics.
        """
        with self._lock:
            self.opening = max(0, self.opening - 1)

    def calm(self, trial: str) -> None:
        """Marks a trial (a test run) as calm: it injects no more faults."""
        with self._lock:
            self._restless.discard(trial)

    @property
    def is_calm(self) -> bool:
        """True if no trial (test run) will inject another fault."""
        return not self._restless

    # ------------------------------------------------------------ brokers

    def is_up(self, broker: BrokerId) -> bool:
        return broker not in self._down

    def kill(self, broker: BrokerId) -> None:
        with self._lock:
            if broker not in self._down:
                self._down.add(broker)
                self._paused.discard(broker)
                self._note(broker, "is killed")
                self.system.do(Ability.KILL, broker)
                self.lives.append(Life(at_ns=time.monotonic_ns(), broker=broker, is_up=False))

    def stop(self, broker: BrokerId) -> None:
        """Stops a broker cleanly, unless it is down or paused, and waits until its process ends."""
        with self._lock:
            if broker not in self._down | self._paused:
                self._note(broker, "is stopped")
                self.system.do(Ability.STOP, broker)
                self._down.add(broker)
                self.lives.append(Life(at_ns=time.monotonic_ns(), broker=broker, is_up=False))

    def start(self, broker: BrokerId) -> None:
        """Starts the broker unless it runs; does not wait until it is ready."""
        with self._lock:
            if broker in self._down:
                self._start(broker)

    def pause(self, broker: BrokerId) -> None:
        with self._lock:
            if broker not in self._down | self._paused:
                self._paused.add(broker)
                self._note(broker, "is paused")
                self.system.do(Ability.PAUSE, broker)

    def resume(self, broker: BrokerId) -> None:
        with self._lock:
            if broker in self._paused:
                self._paused.discard(broker)
                self._note(broker, "is resumed")
                self.system.do(Ability.RESUME, broker)

    def wipe(self, broker: BrokerId) -> None:
        """Kills the broker unless it is down, and deletes all its replicas."""
        self.kill(broker)
        with self._lock:
            self._note(broker, "loses its disk")
            self.system.do(Ability.WIPE, broker)

    def lose_power(self, broker: BrokerId) -> None:
        """Kills the broker unless it is down, and removes every record that was not flushed."""
        self.kill(broker)
        with self._lock:
            self._note(broker, "loses power, and all that was not flushed")
            self.system.do(Ability.LOSE_POWER, broker)

    def _start(self, broker: BrokerId) -> None:
        self._note(broker, "is started")
        self._down.discard(broker)
        self.lives.append(Life(at_ns=time.monotonic_ns(), broker=broker, is_up=True))
        self.system.do(Ability.START, broker)

    def _note(self, broker: BrokerId, what: str) -> None:
        self.inflicted.append(Inflicted.now(f"broker {broker} {what}"))
