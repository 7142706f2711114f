"""Injects the faults on the brokers of one system, for all trials (test runs) that run on the
system at the same time.

The start of a cluster takes long, so several trials share a cluster. A broker that one trial has
killed is down for all of them. A claim must therefore hold under the faults of every trial, not
only under the faults of its own trial. A trial is *calm* if it will inject no more faults. The
brokers recover when all trials are calm.
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
        """Registers a trial (a test run). The trial may inject faults until `calm` is called for
        it.
        """
        with self._lock:
            self._restless.add(trial)

    def opened(self) -> None:
        """Notes that a trial (a test run) has created its topics, or has failed to create them.

        Faults would disturb the creation of topics. Trials that start together therefore inject no
        faults until all of them have created their topics.
        """
        with self._lock:
            self.opening = max(0, self.opening - 1)

    def calm(self, trial: str) -> None:
        """Notes that a trial (a test run) will inject no more faults."""
        with self._lock:
            self._restless.discard(trial)

    @property
    def is_calm(self) -> bool:
        """True if every registered trial (test run) is calm, which means that no more faults will
        be injected.
        """
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
        """Stops a broker cleanly, and waits until its process ends. Does nothing if the broker is
        down or paused.
        """
        with self._lock:
            if broker not in self._down | self._paused:
                self._note(broker, "is stopped")
                self.system.do(Ability.STOP, broker)
                self._down.add(broker)
                self.lives.append(Life(at_ns=time.monotonic_ns(), broker=broker, is_up=False))

    def start(self, broker: BrokerId) -> None:
        """Starts the broker if it is down. Does not wait until the broker is ready."""
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
        """Deletes all replicas of the broker. If the broker runs, it is killed first."""
        self.kill(broker)
        with self._lock:
            self._note(broker, "loses its disk")
            self.system.do(Ability.WIPE, broker)

    def lose_power(self, broker: BrokerId) -> None:
        """Removes every record that the broker has not flushed. If the broker runs, it is killed
        first.
        """
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
