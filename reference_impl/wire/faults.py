"""Faults of a served cluster, as data; counted events trigger them, never the time.

With `drop-response` the request is applied, its response is dropped and the connection is closed,
so the client does not know the outcome. Real clients over TCP are not deterministic; a seed fixes
only the counted event: the n-th applied produce request, or the n-th request of any kind.

    drop-response:every=7             every seventh applied produce request
    drop-response:probability=0.1     each with this probability
    kill-broker:id=1,after=50,restart=200
                                      after the 50th applied produce request the process dies with
                                      its disk intact; after 200 more requests of any kind to the
                                      other brokers it starts again
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from model.faults import InputFault
from model.vocabulary import BrokerId


class BadFault(InputFault):
    """The error for an invalid fault; the message has the fault's text and the valid values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropResponse:
    """Drops responses of applied produce requests, either regularly or at random.

    With `every=7` each seventh response is dropped. With `probability=0.1` each response is dropped
    with a chance of 10 %.
    """

    every: int | None = None
    probability: float | None = None

    def __post_init__(self) -> None:
        if (self.every is None) == (self.probability is None):
            raise BadFault("drop-response needs every=N or probability=P")
        if self.every is not None and self.every < 2:
            raise BadFault(f"drop-response: every={self.every} leaves no response; use 2 or more")
        if self.probability is not None and not 0 <= self.probability < 1:
            raise BadFault(f"drop-response: probability={self.probability} must be in [0, 1)")


@dataclass(frozen=True, slots=True, kw_only=True)
class KillBroker:
    """Kills a broker after some applied produce requests, and restarts it after more requests."""

    broker_id: BrokerId
    after: int
    restart: int | None = None  # None: never

    def __post_init__(self) -> None:
        if self.after < 1 or (self.restart is not None and self.restart < 1):
            raise BadFault("kill-broker: after and restart must be at least 1 request")


Fault = DropResponse | KillBroker
BrokerEvent = tuple[Literal["kill", "restart"], BrokerId]

_FIELDS: Final[Mapping[str, Mapping[str, Callable[[str], int | float]]]] = {
    "drop-response": {"every": int, "probability": float},
    "kill-broker": {"id": int, "after": int, "restart": int},
}


def parsed(text: str) -> Fault:
    """Returns the fault that the text describes in the notation of this module.

    Raises BadFault if the text is invalid.
    """
    name, _, rest = text.partition(":")
    if name not in _FIELDS:
        raise BadFault(f"{name!r} is no fault; known are {', '.join(_FIELDS)}")
    values: dict[str, int | float] = {}
    for item in rest.split(",") if rest else ():
        key, _, value = item.partition("=")
        if key not in _FIELDS[name]:
            raise BadFault(f"{text}: {key!r} is not one of {', '.join(_FIELDS[name])}")
        try:
            values[key] = _FIELDS[name][key](value)
        except ValueError:
            raise BadFault(f"{text}: {key}={value} is no number") from None
    if name == "drop-response":
        every = values.get("every")
        return DropResponse(
            every=None if every is None else int(every), probability=values.get("probability")
        )
    if not {"id", "after"} <= values.keys():
        raise BadFault(f"{text}: id and after are missing")
    restart = values.get("restart")
    return KillBroker(
        broker_id=BrokerId(int(values["id"])),
        after=int(values["after"]),
        restart=None if restart is None else int(restart),
    )


@dataclass(slots=True)
class FaultPlan:
    """The faults of a served cluster, and counters of the requests that trigger them."""

    faults: tuple[Fault, ...] = ()
    seed: int = 0
    applied: int = 0  # produce requests
    requests: int = 0
    _random: random.Random = field(init=False)
    _done: set[KillBroker] = field(default_factory=set)
    _down: dict[BrokerId, int] = field(default_factory=dict)  # -> the request that restarts it

    def __post_init__(self) -> None:
        self._random = random.Random(f"drop-response {self.seed}")

    def answers_applied(self) -> bool:
        """Counts an applied produce request; returns True if its response may be sent.

        Returns False if a fault drops the response.
        """
        self.applied += 1
        dropped = [self._drops(fault) for fault in self.faults if isinstance(fault, DropResponse)]
        return not any(dropped)

    def _drops(self, fault: DropResponse) -> bool:
        if fault.every is not None:
            return self.applied % fault.every == 0
        return self._random.random() < (fault.probability or 0)

    def after_request(self) -> tuple[BrokerEvent, ...]:
        """Counts a request of any kind; returns the brokers to kill or to restart now."""
        self.requests += 1
        happened: list[BrokerEvent] = []
        for broker_id, due in [*self._down.items()]:
            if self.requests >= due:
                del self._down[broker_id]
                happened.append(("restart", broker_id))
        kills = [fault for fault in self.faults if isinstance(fault, KillBroker)]
        happened.extend(("kill", fault.broker_id) for fault in kills if self._kills(fault))
        return tuple(happened)

    def _kills(self, fault: KillBroker) -> bool:
        if self.applied < fault.after or fault in self._done:
            return False
        self._done.add(fault)
        if fault.restart is not None:
            self._down[fault.broker_id] = self.requests + fault.restart
        return True
