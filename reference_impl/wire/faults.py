"""Faults of a served cluster, as data, keyed to events and never to time.

The fault that matters most is `drop-response`: the request is applied, its answer is not sent and
the connection closes, so the client can't know. Real clients over TCP are not deterministic; what
is counted (the n-th applied produce request, the n-th request of any kind) is the same for a seed.

    drop-response:every=7             every seventh applied produce request
    drop-response:probability=0.1     each with this probability
    kill-broker:id=1,after=50,restart=200
                                      after the 50th applied produce request the process dies with
                                      its disk intact; after 200 more requests of any kind to the
                                      others it comes back
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from model.faults import InputFault
from model.vocabulary import BrokerId


class BadFault(InputFault):
    """A fault that can't be: the message names the text and what it may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropResponse:
    """Applies every `every`-th produce request, or each with `probability`, without an answer."""

    every: int | None = None
    probability: float | None = None

    def __post_init__(self) -> None:
        if (self.every is None) == (self.probability is None):
            raise BadFault("drop-response: give every=N or probability=P")
        if self.every is not None and self.every < 2:
            raise BadFault(f"drop-response: every={self.every} would answer nothing; from 2 on")
        if self.probability is not None and not 0 <= self.probability < 1:
            raise BadFault(f"drop-response: probability={self.probability}: from 0 to below 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class KillBroker:
    """Kills a broker after `after` applied produce requests; back after `restart` requests."""

    broker_id: BrokerId
    after: int
    restart: int | None = None  # None: never

    def __post_init__(self) -> None:
        if self.after < 1 or (self.restart is not None and self.restart < 1):
            raise BadFault("kill-broker: after and restart count requests, from 1 on")


Fault = DropResponse | KillBroker
Happening = tuple[Literal["kill", "restart"], BrokerId]

_FIELDS: Final[Mapping[str, Mapping[str, Callable[[str], int | float]]]] = {
    "drop-response": {"every": int, "probability": float},
    "kill-broker": {"id": int, "after": int, "restart": int},
}


def parsed(text: str) -> Fault:
    """The fault that the text tells, in the notation above; BadFault."""
    name, _, rest = text.partition(":")
    if name not in _FIELDS:
        raise BadFault(f"no fault {name!r}; there are {', '.join(_FIELDS)}")
    told: dict[str, int | float] = {}
    for item in rest.split(",") if rest else ():
        key, _, value = item.partition("=")
        if key not in _FIELDS[name]:
            raise BadFault(f"{text}: {key!r} is not one of {', '.join(_FIELDS[name])}")
        try:
            told[key] = _FIELDS[name][key](value)
        except ValueError:
            raise BadFault(f"{text}: {key}={value}: a number is needed") from None
    if name == "drop-response":
        every = told.get("every")
        return DropResponse(
            every=None if every is None else int(every), probability=told.get("probability")
        )
    if not {"id", "after"} <= told.keys():
        raise BadFault(f"{text}: id and after are needed")
    restart = told.get("restart")
    return KillBroker(
        broker_id=BrokerId(int(told["id"])),
        after=int(told["after"]),
        restart=None if restart is None else int(restart),
    )


@dataclass(slots=True)
class FaultPlan:
    """Counts what happens to a cluster and says which fault is due."""

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
        """Counts an applied produce request; False when its answer has to be dropped."""
        self.applied += 1
        dropped = [self._drops(fault) for fault in self.faults if isinstance(fault, DropResponse)]
        return not any(dropped)

    def _drops(self, fault: DropResponse) -> bool:
        if fault.every is not None:
            return self.applied % fault.every == 0
        return self._random.random() < (fault.probability or 0)

    def after_request(self) -> tuple[Happening, ...]:
        """Counts a request of any kind; which brokers die or come back now."""
        self.requests += 1
        happened: list[Happening] = []
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
