"""Generates requests on client quotas, and requests that move replicas between log directories.

Every quota is so high that it throttles no client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from checkers.conform.families.draw import Draw
from checkers.conform.steps import Send, Topic
from reference_impl.wire.messages.apis import Api

USER, CLIENT = {"user": "~u"}, {"client-id": "~c"}
ENTITIES: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("a user", USER),
    ("a user", USER),
    ("a client id", CLIENT),
    ("a client id", CLIENT),
    ("a user and a client id", {**USER, **CLIENT}),
    ("no entity", {}),
    ("an empty user", {"user": ""}),
    ("a group", {"group": "~g"}),
    ("an IP address and a user", {**USER, "ip": "10.1.2.3"}),
    ("a wrong IP address", {"ip": "10.1.2.3.4"}),
)
A_LOT: Final = 1e12
RATE: Final = "producer_byte_rate"
CHANGES: Final[tuple[tuple[str, tuple[tuple[str, float, bool], ...]], ...]] = (
    ("a rate", ((RATE, A_LOT, False),)),
    ("a rate", ((RATE, A_LOT + 1, False),)),
    ("two quotas", ((RATE, A_LOT, False), ("request_percentage", 99_999.5, False))),
    ("a removed quota", ((RATE, 0.0, True),)),
    ("nothing", ()),
    ("a key twice", ((RATE, A_LOT, False), (RATE, A_LOT, False))),
    ("an unknown key", (("producer_bite_rate", A_LOT, False),)),
    ("a key of IP addresses", (("connection_creation_rate", A_LOT, False),)),
    ("zero", ((RATE, 0.0, False),)),
    ("a negative rate", ((RATE, -1.0, False),)),
    ("a fraction of a byte", ((RATE, A_LOT + 0.5, False),)),
    ("a rate of mutations", (("controller_mutation_rate", 1e9 + 0.5, False),)),
)
EXACT, DEFAULT, ANY = range(3)
FILTERS: Final[tuple[tuple[str, tuple[tuple[str, int, str | None], ...]], ...]] = (
    ("a user", (("user", EXACT, "~u"),)),
    ("a user", (("user", EXACT, "~u"),)),
    ("a client id", (("client-id", EXACT, "~c"),)),
    ("both", (("user", EXACT, "~u"), ("client-id", EXACT, "~c"))),
    ("any user and a client id", (("user", ANY, None), ("client-id", EXACT, "~c"))),
    ("the default user and a client id", (("user", DEFAULT, None), ("client-id", EXACT, "~c"))),
    ("a type twice", (("user", EXACT, "~u"), ("user", EXACT, "~u"))),
    ("an unknown type", (("group", EXACT, "~g"),)),
    ("an empty type", (("", EXACT, "~g"),)),
    ("an unknown match", (("user", 9, "~u"),)),
    ("no name", (("user", EXACT, None),)),
    ("a name too many", (("user", ANY, "~u"),)),
    ("an IP address and a user", (("user", EXACT, "~u"), ("ip", EXACT, "10.1.2.3"))),
)


@dataclass(slots=True)
class _Quotas:
    draw: Draw

    def send(self, api: Api, note: str, body: Any, to: str) -> None:
        self.draw.add(Send(api=api, version=self.draw.version(api), body=body, to=to, note=note))

    def alter(self) -> None:
        (whose, entity), (note, changes) = self.draw.one(ENTITIES), self.draw.one(CHANGES)
        entry = {
            "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()],
            "ops": [{"key": key, "value": value, "remove": gone} for key, value, gone in changes],
        }
        times = self.draw.one((1, 1, 1, 1, 2))
        body = {"entries": [entry] * times, "validate_only": self.draw.chance(20)}
        said = "" if times == 1 else ", twice"
        self.send(Api.ALTER_CLIENT_QUOTAS, f"{note} of {whose}{said}", body, "controller")

    def describe(self) -> None:
        note, components = self.draw.one(FILTERS)
        body = {
            "components": [
                {"entity_type": kind, "match_type": how, "match": name}
                for kind, how, name in components
            ],
            "strict": self.draw.chance(50),
        }
        self.send(Api.DESCRIBE_CLIENT_QUOTAS, f"quotas of {note}", body, "node 1")

    def move(self) -> None:
        note, topic, partitions = self.draw.one(
            (
                ("a replica", "~t", [0]),
                ("two partitions", "~t", [0, 7]),
                ("an unknown topic", "~nowhere", [0]),
                ("a long name", "x" * 240, [0]),
            )
        )
        folder = {"path": "/nowhere", "topics": [{"name": topic, "partitions": partitions}]}
        self.send(Api.ALTER_REPLICA_LOG_DIRS, f"{note} to no folder", {"dirs": [folder]}, "node 1")


def quotas(draw: Draw) -> tuple[Topic, ...]:
    it = _Quotas(draw)
    draw.repeat(18, ((10, it.alter), (7, it.describe), (2, it.move)))
    it.describe()
    return (Topic(name="~t"),)
