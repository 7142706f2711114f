"""Runs the rounds of a search in this process, and not on Spark. It is the oracle for Spark's
rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from checkers.rounds import REPORT, Collect, Send, Sent


@dataclass
class InProcess:
    """The rounds of a search, in this process. `levels` has the bytes that each partition kept in
    each round.
    """

    partitions: int
    levels: list[list[list[bytes]]] = field(default_factory=list)

    def on_workers(self, file: Path) -> Callable[[], str]:
        return lambda: str(file)

    def begin(self, sent: Sequence[Sent], collect: Collect) -> list[bytes]:
        reports: list[bytes] = []
        made: list[list[bytes]] = []
        for partition in range(self.partitions):
            own = [data for to, data in sent if to == partition]
            earlier = (data for level in self.levels for data in level[partition])
            made.append(list(self._kept(collect(own, earlier), reports)))
        self.levels.append(made)
        return reports

    def advance(self, title: str, send: Send, collect: Collect) -> list[bytes]:
        del title
        sent = [one for level in self.levels[-1] for one in send(level)]
        reports = [data for to, data in sent if to == REPORT]
        return reports + self.begin(sent, collect)

    def visit(self, title: str, level: int, send: Send) -> list[bytes]:
        del title
        sent = [one for partition in self.levels[level] for one in send(partition)]
        return [data for to, data in sent if to == REPORT]

    def _kept(self, sent: Iterator[Sent], reports: list[bytes]) -> Iterator[bytes]:
        for to, data in sent:
            if to == REPORT:
                reports.append(data)
            else:
                yield data
