"""Generates requests on consumer groups (KIP-848): joins, epochs, assignments, leaves and commits.

A coordinator computes a new assignment at most one time a second. A sequence therefore pauses for a
second before every change of the group. Without the pause, the speed of the machine would decide
which heartbeat is answered with the assignment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from checkers.conform.families.draw import Draw
from checkers.conform.group_requests import (
    commit,
    committed,
    consumer_heartbeat,
    describe,
    member_of,
    owned_by,
)
from checkers.conform.steps import Pause, Topic, bound

GROUP: Final = "~g"
TOPICS: Final = (("^two",), ("^two",), ("^four",), ("^two", "^four"))
REBALANCE_MS: Final = 20_000
GHOST: Final = "~ghost"
INTERVAL: Final = Pause(ms=1_100)  # group.consumer.assignment.interval.ms, and a little more


def epoch_of(member: str, plus: int = 0) -> dict[str, Any]:
    return bound(f"{member}.epoch", plus=plus)


@dataclass(slots=True)
class _Consumers:
    draw: Draw
    version: int  # the broker chooses member ids in version 0, and members in version 1
    alive: str = ""

    def heartbeat(self, note: str, letter: str, /, **options: Any) -> None:
        self.draw.add(consumer_heartbeat(note, letter, GROUP, version=self.version, **options))

    def member(self) -> str:
        return self.draw.one(self.alive)

    def join(self) -> None:
        new = [member for member in "abc" if member not in self.alive]
        if not new:
            return
        if self.draw.steps:
            self.draw.add(INTERVAL)
        topics = self.draw.one(TOPICS)
        chosen: dict[str, Any] = {} if self.version else {"member": ""}
        self.heartbeat(
            "join",
            new[0],
            epoch=0,
            topics=topics,
            owned=[],
            rebalance_ms=REBALANCE_MS,
            **chosen,
        )
        self.alive += new[0]
        self.await_assignments()

    def await_assignments(self) -> None:
        """Adds heartbeats of all members, as clients send them, until each member owns the
        partitions that the coordinator has assigned to this member.
        """
        for _ in range(2):
            for member in self.alive:
                self.heartbeat("owns what it was assigned", member, owned=owned_by(member))
        for member in self.alive:
            note = "owns what it was assigned, settled"
            self.heartbeat(note, member, owned=owned_by(member), repeats=True)

    def beat(self) -> None:
        if self.alive:
            self.heartbeat("heartbeat", self.member())

    def subscribe(self) -> None:
        if self.alive:
            self.draw.add(INTERVAL)
            member = self.member()
            self.heartbeat("other topics", member, topics=self.draw.one(TOPICS))
            self.await_assignments()

    def leave(self) -> None:
        if self.alive:
            self.draw.add(INTERVAL)
            member = self.member()
            self.heartbeat("leave", member, epoch=-1, keeps=False)
            self.alive = self.alive.replace(member, "")
            self.await_assignments()

    def wrong(self) -> None:
        member = self.member() if self.alive else "a"
        note, options = self.draw.case(
            ("unknown member", {"member": GHOST, "epoch": 3}),
            ("epoch ahead", {"epoch": epoch_of(member, 3)}),
            ("epoch -3", {"epoch": -3}),
            ("join without topics", {"member": GHOST, "epoch": 0, "owned": []}),
            ("unknown assignor", {"assignor": "nobody"}),
            ("leave of an unknown member", {"member": GHOST, "epoch": -1}),
        )
        self.heartbeat(note, member, keeps=False, **options)

    def commit(self) -> None:
        member = self.member() if self.alive else "a"
        note, options = self.draw.case(
            ("commit", {"epoch": epoch_of(member), "member": member_of(member)}),
            ("commit", {"epoch": epoch_of(member), "member": member_of(member)}),
            ("commit", {"epoch": epoch_of(member), "member": member_of(member)}),
            ("commit, older epoch", {"epoch": epoch_of(member, -1), "member": member_of(member)}),
            ("commit, later epoch", {"epoch": epoch_of(member, 1), "member": member_of(member)}),
            ("commit, unknown member", {"epoch": epoch_of(member), "member": GHOST}),
            ("commit without a member", {}),
        )
        offset = self.draw.random.randrange(50)
        version = self.draw.one((9, 10))
        self.draw.add(commit(note, GROUP, "^two", offset, version=version, **options))

    def committed(self) -> None:
        member = self.member() if self.alive else "a"
        note, options = self.draw.case(
            ("committed offsets", {}),
            (
                "committed, member epoch",
                {"member": member_of(member), "epoch": epoch_of(member)},
            ),
            ("committed, later", {"member": member_of(member), "epoch": epoch_of(member, 1)}),
        )
        version = self.draw.one((9, 10))
        self.draw.add(committed(note, GROUP, "^two", version=version, **options))

    def described(self) -> None:
        self.draw.add(describe("describe", GROUP, version=self.draw.one((0, 1))))


def consumer_groups(draw: Draw) -> tuple[Topic, ...]:
    it = _Consumers(draw, version=draw.one((0, 1, 1)))
    it.join()
    draw.repeat(
        12,
        (
            (3, it.join),
            (4, it.beat),
            (2, it.subscribe),
            (2, it.leave),
            (4, it.wrong),
            (4, it.commit),
            (3, it.committed),
            (2, it.described),
        ),
    )
    it.described()
    return ()
