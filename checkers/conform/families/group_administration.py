"""Generates requests that describe, list and delete groups, and requests that delete the committed
offsets of groups.

Each sequence is about one group. The group has a member, or has committed offsets but no member, or
does not exist.
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
    join,
    leave,
    member_of,
    sync,
)
from checkers.conform.steps import Collect, Pause, Send, Topic, bound
from reference_impl.wire.messages.apis import Api

GROUP, OTHER = "~g", "~other"
READ, UNREAD = "^two", "^four"
SOON_MS: Final = 2_500
INTERVAL: Final = Pause(ms=1_200)  # two target assignments are a second apart


@dataclass(slots=True)
class _Groups:
    draw: Draw
    member: str = ""  # its protocol; empty while the group has no member

    def send(self, api: Api, note: str, body: Any, *, to: str = GROUP) -> None:
        version = self.draw.version(api)
        self.draw.add(Send(api=api, version=version, body=body, to=f"group {to}", note=note))

    # ------------------------------------------------------------ members

    def join(self) -> None:
        if self.member:
            return
        self.member = self.draw.one(("classic", "classic", "connect", "consumer"))
        if self.member == "consumer":
            self.draw.add(
                consumer_heartbeat(
                    "join", "c", GROUP, epoch=0, topics=(READ,), owned=[], rebalance_ms=20_000
                )
            )
            return
        kind = "consumer" if self.member == "classic" else "connect"
        begun = join("a", GROUP, version=3, protocol_type=kind)
        self.draw.add(begun, Collect(label=begun.label, within_ms=SOON_MS))
        if self.draw.chance(80):
            synced = sync("a", GROUP, "a", version=5, protocol_type=kind)
            self.draw.add(synced, Collect(label=synced.label, within_ms=SOON_MS))

    def leave(self) -> None:
        if self.member == "consumer":
            self.draw.add(consumer_heartbeat("leave", "c", GROUP, epoch=-1, keeps=False), INTERVAL)
        elif self.member:
            self.draw.add(leave("leave", GROUP, (member_of("a"), None)))
        self.member = ""

    def commit(self) -> None:
        topic = self.draw.one((READ, UNREAD))
        if self.member == "consumer":
            options: dict[str, Any] = {
                "epoch": bound("c.epoch"),
                "member": member_of("c"),
                "version": 9,
            }
            self.draw.add(commit("commit", GROUP, topic, 3, **options))
        elif not self.member:
            self.draw.add(commit("commit without a member", GROUP, topic, 3))

    # ------------------------------------------------------------ administration

    def describe(self) -> None:
        names = self.draw.one(([GROUP], [GROUP], [GROUP, GROUP], []))
        self.send(Api.DESCRIBE_GROUPS, f"describe {len(names)}", {"groups": names})

    def describe_other(self) -> None:
        self.send(Api.DESCRIBE_GROUPS, "describe an unknown group", {"groups": [OTHER]}, to=OTHER)

    def describe_consumer(self) -> None:
        self.draw.add(describe("describe consumers", GROUP, version=self.draw.one((0, 1))))

    def list(self) -> None:
        version = self.draw.version(Api.LIST_GROUPS)
        states = self.draw.one(([], ["Stable"], ["empty", "Assigning"], ["nonsense"]))
        types = self.draw.one(([], ["classic"], ["Consumer"]))
        states = states if version >= 4 else []
        types = types if version >= 5 else []
        body = {"states_filter": states, "types_filter": types}
        note = f"list {states} {types}"
        to = f"group {GROUP}"
        self.draw.add(Send(api=Api.LIST_GROUPS, version=version, body=body, to=to, note=note))

    def delete(self) -> None:
        self.send(Api.DELETE_GROUPS, "delete", {"groups_names": [GROUP]})

    def delete_other(self) -> None:
        note, name = self.draw.one((("an unknown group", OTHER), ("the empty group", "")))
        to = OTHER if name else GROUP
        if name:
            self.send(Api.DELETE_GROUPS, f"delete {note}", {"groups_names": [name]}, to=to)

    def delete_offsets(self) -> None:
        note, topics = self.draw.one(
            (
                ("of a topic that is read", [(READ, 0)]),
                ("of another topic", [(UNREAD, 0)]),
                ("of both topics", [(READ, 0), (UNREAD, 0)]),
                ("without a commit", [(UNREAD, 1)]),
                ("of no partition", [(READ, 9)]),
                ("of no topic", [("~nowhere", 0)]),
            )
        )
        body = {
            "group_id": GROUP,
            "topics": [
                {"name": name, "partitions": [{"partition_index": index}]} for name, index in topics
            ],
        }
        self.send(Api.OFFSET_DELETE, f"delete offsets {note}", body)
        self.draw.add(committed("all offsets", GROUP, None))


def group_administration(draw: Draw) -> tuple[Topic, ...]:
    it = _Groups(draw)
    draw.repeat(
        14,
        (
            (4, it.join),
            (3, it.leave),
            (4, it.commit),
            (4, it.describe),
            (1, it.describe_other),
            (2, it.describe_consumer),
            (3, it.list),
            (3, it.delete),
            (1, it.delete_other),
            (4, it.delete_offsets),
        ),
    )
    # The requests use only the topics that all sequences of a run share.
    return ()
