"""Generates requests on classic groups: joins, generations, static members, leaves and commits.

The first member leads the group. When a member joins or leaves, the other members learn about it
from the answer to a heartbeat, and join again, as clients do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from checkers.conform.families.draw import Draw
from checkers.conform.group_requests import (
    commit,
    committed,
    generation,
    heartbeat,
    join,
    leave,
    member_of,
    sync,
)
from checkers.conform.steps import Begin, Collect, Step, Topic
from reference_impl.wire.messages.apis import Api

GROUP: Final = "~g"
TOPIC: Final = "^two"
SOON_MS: Final = 2_500
NOT_SOON_MS: Final = 250
GHOST: Final = "~ghost"


@dataclass(slots=True)
class _Classic:
    draw: Draw
    join_version: int
    sync_version: int
    static: bool
    alive: str = ""
    used: str = "a"  # a member that left does not come back

    def instance(self, member: str) -> str | None:
        return f"instance-{member}" if self.static else None

    # ------------------------------------------------------------ generations

    def form_group(self) -> None:
        self.request_id("a")
        begun = self.join("a")
        self.draw.add(begun, Collect(label=begun.label, within_ms=SOON_MS))
        self.sync("a")

    def request_id(self, letter: str) -> None:
        """Adds a JoinGroup request without a member id. The response assigns the id (KIP-394).

        Adds nothing for static members, or if the version of JoinGroup is below 4. In these cases,
        a member joins without a first request for an id.
        """
        if self.join_version >= 4 and not self.static:
            begun = self.join(letter, note="join without a member id")
            self.draw.add(begun, Collect(label=begun.label, within_ms=SOON_MS))

    def rebalance(self, members: str) -> None:
        joins = [self.join(member) for member in members]
        self.draw.add(*joins)
        self.draw.add(*(Collect(label=one.label, within_ms=SOON_MS) for one in joins))
        self.sync(members)

    def join(self, letter: str, /, **options: Any) -> Begin:
        data = f"of {letter}".encode()
        options = {
            "version": self.join_version,
            "instance": self.instance(letter),
            "protocols": (("range", data), ("roundrobin", data)),
            **options,
        }
        return join(letter, GROUP, **options)

    # ------------------------------------------------------------ requests of members

    def member(self) -> str:
        return self.draw.one(self.alive)

    def heartbeat(self) -> None:
        member = self.member()
        version = self.draw.version(Api.HEARTBEAT)
        static = version >= 3
        rows: list[tuple[str, dict[str, Any]]] = [
            ("heartbeat", {}),
            ("heartbeat, older generation", {"plus": -1}),
            ("heartbeat, later generation", {"plus": 1}),
            ("heartbeat, unknown member", {"member": GHOST}),
        ]
        if self.static and static:
            rows.append(("heartbeat, unknown instance", {"instance": "nobody"}))
            rows.append(("heartbeat, fenced instance", {"member": "~other"}))
        note, options = self.draw.one(rows)
        if self.static and static and "instance" not in options:
            options["instance"] = self.instance(member)
        self.draw.add(heartbeat(note, member, GROUP, version=version, **options))

    def commit(self) -> None:
        member = self.member()
        offset = self.draw.random.randrange(50)
        note, options = self.draw.case(
            ("commit", {"epoch": generation(), "member": member_of(member)}),
            ("commit", {"epoch": generation(), "member": member_of(member)}),
            ("commit", {"epoch": generation(), "member": member_of(member)}),
            ("commit", {"epoch": generation(), "member": member_of(member)}),
            ("commit, older", {"epoch": generation(-1), "member": member_of(member)}),
            ("commit, later", {"epoch": generation(1), "member": member_of(member)}),
            ("commit, unknown member", {"epoch": generation(), "member": GHOST}),
            ("commit without a member", {}),
        )
        version = self.draw.version(Api.OFFSET_COMMIT)
        partition = self.draw.one((0, 1))
        self.draw.add(
            commit(note, GROUP, TOPIC, offset, version=version, partition=partition, **options)
        )

    def committed(self) -> None:
        version = self.draw.version(Api.OFFSET_FETCH)
        topic = None if version >= 2 and self.draw.chance(30) else TOPIC
        self.draw.add(committed("committed offsets", GROUP, topic, version=version))

    def wrong_sync(self) -> None:
        member = self.member()
        note, options = self.draw.case(
            ("sync, later generation", {"plus": 1}),
            ("sync, unknown member", {"member": GHOST}),
        )
        begun = sync(member, GROUP, "", version=self.sync_version, note=note, **options)
        self.draw.add(begun, Collect(label=begun.label, within_ms=SOON_MS))

    def wrong_join(self) -> None:
        note, options = self.draw.case(
            ("join, no common protocol", {"protocols": (("other", b"x"),)}),
            ("join, other protocol type", {"protocol_type": "connect"}),
            ("join, unknown member", {"member": GHOST}),
            ("join, session of 10 ms", {"session_ms": 10}),
            ("join, session of a day", {"session_ms": 86_400_000}),
            ("join, no protocol", {"protocols": ()}),
            ("join, no protocol type", {"protocol_type": ""}),
        )
        begun = self.join("z", note=note, instance=None, **options)
        self.draw.add(begun, Collect(label=begun.label, within_ms=SOON_MS))

    def sync_again(self) -> None:
        member = self.member()
        begun = sync(
            member,
            GROUP,
            self.alive,
            version=self.sync_version,
            instance=self.instance(member) if self.sync_version >= 3 else None,
            note="sync again",
        )
        self.draw.add(begun, Collect(label=begun.label, within_ms=SOON_MS))

    # ------------------------------------------------------------ changes of the group

    def leave(self) -> None:
        if len(self.alive) < 2:
            return
        member = self.draw.one(self.alive)
        version = self.draw.version(Api.LEAVE_GROUP, 3 if self.static else 0)
        leaver = ("", self.instance(member)) if self.static else (member_of(member), None)
        self.draw.add(leave("leave", GROUP, leaver, version=version))
        if self.draw.chance(50):
            self.draw.add(leave("leave again", GROUP, leaver, version=version))
        self.alive = self.alive.replace(member, "")
        self.draw.add(heartbeat("heartbeat after another left", self.alive[0], GROUP))
        self.rebalance(self.alive)

    def grow(self) -> None:
        new = [member for member in "bcdefgh" if member not in self.used]
        if not new or len(self.alive) > 2:
            return
        self.used += new[0]
        self.request_id(new[0])
        begun = self.join(new[0])
        self.draw.add(begun, Collect(label=begun.label, within_ms=NOT_SOON_MS))
        member = self.member()
        self.draw.add(heartbeat("heartbeat during a rebalance", member, GROUP))
        self.draw.add(
            commit(
                "commit during a rebalance",
                GROUP,
                TOPIC,
                7,
                epoch=generation(),
                member=member_of(member),
            )
        )
        joins = [self.join(one) for one in self.alive]
        self.draw.add(*joins)
        labels = [one.label for one in joins] + [begun.label]
        self.draw.add(*(Collect(label=label, within_ms=SOON_MS) for label in labels))
        self.sync(self.alive + new[0])

    def rejoin(self) -> None:
        """Adds JoinGroup requests of all members, if the leader is alive. The JoinGroup request of
        the leader begins a new generation.
        """
        if self.alive.startswith("a"):
            self.rebalance(self.alive)

    def sync(self, members: str) -> None:
        self.alive = members
        begun = [
            sync(
                member,
                GROUP,
                members,
                version=self.sync_version,
                instance=self.instance(member) if self.sync_version >= 3 else None,
            )
            for member in members
        ]
        self.draw.add(*begun)
        self.draw.add(*(Collect(label=one.label, within_ms=SOON_MS) for one in begun))


def classic_groups(draw: Draw) -> tuple[Topic, ...]:
    version = draw.version(Api.JOIN_GROUP)
    static = version >= 5 and draw.chance(35)
    it = _Classic(
        draw,
        join_version=version,
        sync_version=draw.version(Api.SYNC_GROUP, 3 if static else 0),
        static=static,
    )
    it.form_group()
    if draw.chance(60):
        it.grow()
    draw.repeat(
        12,
        (
            (5, it.heartbeat),
            (5, it.commit),
            (4, it.committed),
            (2, it.wrong_sync),
            (2, it.wrong_join),
            (2, it.sync_again),
            (2, it.leave),
            (2, it.grow),
            (1, it.rejoin),
        ),
    )
    draw.add(committed("committed offsets at the end", GROUP, None, version=8))
    return ()


def group_edges(draw: Draw) -> tuple[Topic, ...]:
    """Generates requests on groups that do not exist or have no members, and on groups with an
    empty id.
    """
    for _ in range(16):
        group = draw.one((GROUP, f"~g{draw.random.randrange(1000)}"))
        named = draw.one((group, group, ""))  # an empty id: only where it changes nothing
        version = draw.version(Api.OFFSET_COMMIT)
        cases: tuple[Step, ...] = (
            heartbeat("heartbeat", "a", named, member=GHOST),
            leave("leave", named, (GHOST, None), version=draw.version(Api.LEAVE_GROUP)),
            sync("a", named, "", member=GHOST, version=draw.version(Api.SYNC_GROUP)),
            join("a", named, member=GHOST, version=draw.version(Api.JOIN_GROUP)),
            commit("commit, generation 3", group, TOPIC, 1, epoch=3, member=GHOST),
            commit("commit, generation -1 with a member", group, TOPIC, 1, member=GHOST),
            commit("simple commit", group, TOPIC, 1, version=version),
            commit("commit of an unknown topic", group, "~nowhere", 1, version=version),
            commit("commit of an unknown partition", group, TOPIC, 1, partition=9),
            commit("commit of offset -5", group, TOPIC, -5),
            commit("commit with 5 kB of metadata", group, TOPIC, 1, metadata="x" * 5_000),
            commit("commit without metadata", group, TOPIC, 1, metadata=None),
            committed("fetch", group, TOPIC, version=draw.version(Api.OFFSET_FETCH)),
            committed("fetch all", group, None, version=draw.version(Api.OFFSET_FETCH, 2)),
            committed("fetch of an unknown topic", group, "~nowhere"),
            committed("fetch of an unknown partition", group, TOPIC, partition=9),
        )
        made = draw.one(cases)
        draw.add(made)
        if isinstance(made, Begin):
            draw.add(Collect(label=made.label, within_ms=SOON_MS))
    return ()
