"""A running cluster, as one side of a comparison by `urteil conform`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from checkers.conform.left_out import is_left_out
from checkers.conform.normal import Normal
from checkers.conform.session import PENDING, Session
from checkers.conform.steps import Begin, Collect, Send, Steps
from checkers.conform.target import Target


@dataclass(slots=True)
class Live:
    session: Session
    normal: Normal
    _last: dict[int, Any] = field(default_factory=dict[int, Any])

    @classmethod
    def begun(cls, target: Target, number: int, sequence: Steps) -> Live:
        session = Session(target, number)
        session.prepare(sequence)
        return cls(session, Normal(session))

    @property
    def is_running(self) -> bool:
        return True

    def has(self, send: Send) -> bool:
        target = self.session.target
        return target.has(send.api, send.version) and not is_left_out(target.name, send)

    def send(self, index: int, step: Send) -> Any:
        del index
        self._last[id(step)] = answer = self.session.send(step)
        return self.normal.form(answer)

    def begin(self, index: int, step: Begin) -> None:
        del index
        self.session.begin(step)

    def collect(self, index: int, step: Collect, until: float) -> Any:
        del index
        send = self.session.begun(step.label)
        if send is None:
            return PENDING
        self._last[id(send)] = answer = self.session.collect(step, until)
        return self.normal.form(answer)

    def keep(self, step: Send) -> None:
        self.session.bind(step, self._last.get(id(step), PENDING))

    def close(self) -> None:
        self.session.close()
