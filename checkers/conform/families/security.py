"""Generates SASL requests to a listener without SASL, and requests on the SCRAM credentials of
users.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from checkers.conform.families.draw import Draw
from checkers.conform.steps import Send, Topic, raw
from reference_impl.wire.messages.apis import Api

USER, OTHER, NOBODY = "~u", "~other", "~nobody"
SHA_256, SHA_512, UNKNOWN = 1, 2, 3
FEWEST, MOST = 4096, 16384
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "GSSAPI", "")
TOKENS: Final = (b"", b"\0alice\0secret", b"n,,n=alice,r=nonce")


@dataclass(slots=True)
class _Security:
    draw: Draw

    def send(self, api: Api, note: str, body: Any) -> None:
        version = self.draw.version(api)
        self.draw.add(Send(api=api, version=version, body=body, to="node 1", note=note))

    # ------------------------------------------------------------ SASL

    def handshake(self) -> None:
        mechanism = self.draw.one(MECHANISMS)
        self.send(Api.SASL_HANDSHAKE, f"handshake {mechanism}", {"mechanism": mechanism})

    def authenticate(self) -> None:
        body = {"auth_bytes": raw(self.draw.one(TOKENS))}
        self.send(Api.SASL_AUTHENTICATE, "a token", body)

    # ------------------------------------------------------------ SCRAM credentials

    def upsertion(self, name: str, **fields: Any) -> dict[str, Any]:
        return {
            "name": name,
            "mechanism": self.draw.one((SHA_256, SHA_512)),
            "iterations": self.draw.one((FEWEST, 5000, MOST)),
            "salt": raw(b"salt"),
            "salted_password": raw(b"salted"),
            **fields,
        }

    def deletion(self, name: str) -> dict[str, Any]:
        return {"name": name, "mechanism": self.draw.one((SHA_256, SHA_512))}

    def alter(self) -> None:
        name = self.draw.one((USER, OTHER))
        note, upsertions, deletions = self.draw.one(
            (
                ("add", [self.upsertion(name)], []),
                ("add two", [self.upsertion(USER), self.upsertion(OTHER)], []),
                ("add twice", [self.upsertion(name), self.upsertion(name)], []),
                ("delete", [], [self.deletion(name)]),
                ("delete nobody", [], [self.deletion(NOBODY)]),
                ("add and delete", [self.upsertion(name)], [self.deletion(name)]),
                ("no name", [self.upsertion("")], []),
                ("unknown mechanism", [self.upsertion(name, mechanism=UNKNOWN)], []),
                ("delete an unknown mechanism", [], [{"name": name, "mechanism": UNKNOWN}]),
                ("few iterations", [self.upsertion(name, iterations=FEWEST - 1)], []),
                ("many iterations", [self.upsertion(name, iterations=MOST + 1)], []),
                ("nothing", [], []),
            )
        )
        body = {"deletions": deletions, "upsertions": upsertions}
        self.send(Api.ALTER_USER_SCRAM_CREDENTIALS, note, body)

    def describe(self) -> None:
        names = self.draw.one(((USER,), (OTHER, USER), (NOBODY,), (USER, USER), ("",)))
        body = {"users": [{"name": name} for name in names]}
        self.send(Api.DESCRIBE_USER_SCRAM_CREDENTIALS, "describe", body)


def security(draw: Draw) -> tuple[Topic, ...]:
    drawn = _Security(draw)
    drawn.alter()
    drawn.describe()
    draw.repeat(
        8,
        (
            (1, drawn.handshake),
            (1, drawn.authenticate),
            (4, drawn.alter),
            (3, drawn.describe),
        ),
    )
    return ()
