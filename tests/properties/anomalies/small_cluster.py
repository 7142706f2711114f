"""A simulated small cluster with at most one defect.

The markers of a transaction are written one by one, long after the decision to commit or abort. The
transaction's pending offsets take effect together, some time after the decision. The module
`small_cluster_clients` has the clients.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from dataclasses import dataclass, field

from model.histories import Isolation, Poll

Steps = Generator[None, None, None]
INPUTS = ("i", "j")
OUTPUTS = ("o", "q")
BUGS = (
    "open transactions show",
    "a commit marker is missing",
    "aborted offsets show",
    "staged offsets vanish",
    "the position stays after an abort",
    "nobody is fenced",
)


@dataclass(slots=True, eq=False)
class Transaction:
    state: str = "open"  # then committed or aborted
    unmarked: set[str] = field(default_factory=set)  # keys that lack its marker
    staged: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        return self.state != "open" and not self.unmarked and not self.staged


@dataclass(slots=True)
class Entry:
    value: str | None  # None: a marker
    by: Transaction | None


@dataclass(slots=True)
class Cluster:
    """The logs, group offsets and transactions of a cluster; `bug` names its defect, if any."""

    rng: random.Random
    bug: str | None
    logs: dict[str, list[Entry]] = field(
        default_factory=lambda: {key: [] for key in (*INPUTS, *OUTPUTS)}
    )
    offsets: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    transactions: list[Transaction] = field(default_factory=list)
    producer: Transaction | None = None
    epoch: int = 0
    commits: int = 0

    def append(self, key: str, value: str, by: Transaction | None = None) -> int:
        self.logs[key].append(Entry(value, by))
        if by:
            by.unmarked.add(key)
        return len(self.logs[key]) - 1

    def end(self, key: str, isolation: Isolation) -> int:
        log = self.logs[key]
        if isolation == "read_uncommitted" or self.bug == "open transactions show":
            return len(log)
        waits = (n for n, it in enumerate(log) if it.by and it.value and key in it.by.unmarked)
        return next(waits, len(log))

    def read(self, key: str, begin: int, isolation: Isolation) -> list[Poll]:
        shown = self.logs[key][begin : self.end(key, isolation)]
        dirty = isolation == "read_uncommitted"
        hidden = {"aborted"} if self.bug == "open transactions show" else {"open", "aborted"}
        if self.bug == "a commit marker is missing" and key == OUTPUTS[0]:
            hidden = {"committed", "aborted"}
        return [
            Poll(key, begin + n, it.value)
            for n, it in enumerate(shown)
            if it.value and (dirty or not it.by or it.by.state not in hidden)
        ]

    def commit(self, register: tuple[str, str], offset: int, by: Transaction | None) -> None:
        self.commits += 1
        into = by.staged if by else self.offsets
        into[register] = offset, self.commits

    def offset(self, register: tuple[str, str]) -> int | None:
        return self.offsets[register][0] if register in self.offsets else None

    def stable(self, group: str) -> bool:
        staged = {register for it in self.transactions for register in it.staged}
        return not any(register[0] == group for register in staged)

    def begin(self, transaction: Transaction) -> None:
        self.producer = transaction
        self.transactions.append(transaction)

    def coordinate(self) -> Steps:
        """Runs the coordinator, which completes committed and aborted transactions in steps.

        A step writes the marker of one transaction on one partition, or applies all pending offsets
        of one transaction.
        """
        while True:
            decided = [it for it in self.transactions if it.state != "open" and not it.over]
            if decided:
                it = self.rng.choice(decided)
                if it.unmarked and (not it.staged or self.rng.random() < 0.6):
                    key = self.rng.choice(sorted(it.unmarked))
                    it.unmarked.remove(key)
                    self.logs[key].append(Entry(None, it))
                else:
                    self._apply_offsets(it)
            yield

    def _apply_offsets(self, transaction: Transaction) -> None:
        for register, staged in transaction.staged.items():
            newer = staged[1] > self.offsets.get(register, (0, 0))[1]
            shows = transaction.state == "committed" or self.bug == "aborted offsets show"
            if shows and newer and self.bug != "staged offsets vanish":
                self.offsets[register] = staged
        transaction.staged.clear()
