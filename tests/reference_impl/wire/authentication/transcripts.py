"""Connections to a SASL_PLAINTEXT listener as data, and the outcome of each step.

A transcript is a sequence of steps. After the last step, the client sends a Metadata request. Its
outcome shows whether the client is authenticated. tests/data/sasl has the outcomes of Apache Kafka
4.3.0.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from reference_impl.wire.messages.apis import Api
from tests.reference_impl.wire.conftest import Connection
from tests.reference_impl.wire.security.test_scram import final_message

PASSWORDS: Final = {"alice": "secret", "admin": "of admin"}
SESSION_MS: Final = 60_000
Outcome = list[Any] | str
CLOSED: Final = "closed"


@dataclass(frozen=True, slots=True)
class Handshake:
    mechanism: str = "PLAIN"
    version: int = 1


@dataclass(frozen=True, slots=True)
class Token:
    data: bytes
    version: int = 2


@dataclass(frozen=True, slots=True)
class Proof:
    """The client's final SCRAM message, after its bytes `old` are replaced by `new`."""

    password: str = "secret"
    old: bytes = b""
    new: bytes = b""
    signs: bytes = b""  # the first message as the client signs it, if not as it was sent


@dataclass(frozen=True, slots=True)
class Ask:
    api: Api = Api.METADATA
    version: int = 9
    fields: Mapping[str, Any] = field(default_factory=lambda: {"topics": [{"name": "absent"}]})


@dataclass(frozen=True, slots=True)
class Frame:
    """Arbitrary bytes, sent with a length before them.

    The outcome is `CLOSED` if the broker closes the connection. Otherwise, the outcome says whether
    the broker's answer is empty, and nothing else about it.
    """

    data: bytes


Step = Handshake | Token | Proof | Ask | Frame
ALICE: Final = Token(b"\0alice\0secret")
VERSIONS: Final = Ask(Api.API_VERSIONS, 0, {})
SHA_256, SHA_512 = Handshake("SCRAM-SHA-256"), Handshake("SCRAM-SHA-512")
FIRST: Final = Token(b"n,,n=alice,r=nonce")

PLAIN_TOKENS: Final[Mapping[str, bytes]] = {
    "right": b"\0alice\0secret",
    "own authorization id": b"alice\0alice\0secret",
    "other authorization id": b"admin\0alice\0secret",
    "wrong password": b"\0alice\0x",
    "unknown user": b"\0bob\0x",
    "empty": b"",
    "no name": b"\0\0x",
    "no password": b"\0alice\0",
    "five fields": b"a\0b\0c\0d\0e",
}
FIRST_MESSAGES: Final[Mapping[str, bytes]] = {
    "empty": b"",
    "garbage": b"garbage",
    "channel binding y": b"y,,n=alice,r=nonce",
    "channel binding p": b"p=tls-unique,,n=alice,r=nonce",
    "unknown user": b"n,,n=bob,r=nonce",
    "own authorization id": b"n,a=alice,n=alice,r=nonce",
    "other authorization id": b"n,a=bob,n=alice,r=nonce",
    "reserved extension": b"n,,m=x,n=alice,r=nonce",
    "delegation token": b"n,,n=alice,r=nonce,tokenauth=true",
    "not ASCII": "n,,n=älice,r=nonce".encode(),
    "bare equals": b"n,,n=al=ice,r=nonce",
    "space in the nonce": b"n,,n=alice,r=a b",
    "empty nonce": b"n,,n=alice,r=",
}
FINAL_MESSAGES: Final[Mapping[str, Proof]] = {
    "right": Proof(),
    "wrong password": Proof("x"),
    "short proof": Proof(old=b"p=", new=b"p=AAAA"),
    "no proof": Proof(old=b",p=", new=b",q="),
    "other nonce": Proof(old=b"r=nonce", new=b"r=other"),
    "other channel": Proof(old=b"c=biws", new=b"c=AAAA"),
    "extension": Proof(old=b",p=", new=b",foo=bar,p="),
}

TRANSCRIPTS: Final[dict[str, tuple[Step, ...]]] = {
    "nothing": (),
    "a token first": (ALICE,),
    "a token without a header first": (Frame(b"\0alice\0secret"),),
    "versions": (VERSIONS,),
    "versions twice": (VERSIONS, VERSIONS),
    "versions, handshake": (VERSIONS, Handshake(), ALICE),
    "unknown version of versions": (
        Frame(struct.pack(">hhih", Api.API_VERSIONS, 99, 0, -1) + b"\0"),
        VERSIONS,
        Handshake(),
        ALICE,
    ),
    "invalid client name": (
        Ask(Api.API_VERSIONS, 3, {"client_software_name": "", "client_software_version": ""}),
        VERSIONS,
        Handshake(),
    ),
    "unknown mechanism": (Handshake("GSSAPI"),),
    "empty mechanism": (Handshake("", 0),),
    "handshake twice": (Handshake(), Handshake()),
    "handshake, versions": (Handshake(), VERSIONS),
    "handshake, request": (Handshake(),),
    "handshake, garbage": (Handshake(), Frame(b"garbage!")),
    "bare token": (Handshake(version=0), Frame(b"\0alice\0secret")),
    "wrong bare token": (Handshake(version=0), Frame(b"\0alice\0x")),
    "unknown version of a token": (
        Handshake(),
        Frame(struct.pack(">hhih", Api.SASL_AUTHENTICATE, 9, 1, -1) + b"\0\1"),
    ),
    "token version 0": (Handshake(), Token(b"\0alice\0secret", 0)),
    "token version 1": (Handshake(), Token(b"\0alice\0secret", 1)),
    "token after success": (Handshake(), ALICE, ALICE),
    "again": (Handshake(), ALICE, Handshake(), ALICE),
    "again twice in a second": (Handshake(), ALICE, Handshake(), ALICE, Handshake()),
    "again with another user": (Handshake(), ALICE, Handshake(), Token(b"\0admin\0of admin")),
    "again with another mechanism": (Handshake(), ALICE, SHA_256, FIRST),
    "again with a wrong password": (Handshake(), ALICE, Handshake(), Token(b"\0alice\0x")),
    "again with an unknown mechanism": (Handshake(), ALICE, Handshake("GSSAPI")),
    "again by SCRAM": (SHA_256, FIRST, Proof(), SHA_256, FIRST, Proof()),
    "again by SCRAM, wrong": (SHA_256, FIRST, Proof(), SHA_256, FIRST, Proof("x")),
    "a request while it authenticates again": (Handshake(), ALICE, Handshake()),
    "SHA-512": (SHA_512, FIRST, Proof()),
    "SHA-512, wrong password": (SHA_512, FIRST, Proof("x")),
    "the reserved extension is not signed": (
        SHA_256,
        Token(FIRST_MESSAGES["reserved extension"]),
        Proof(signs=FIRST.data),
    ),
    "an extension is signed": (SHA_256, Token(b"n,,n=alice,r=nonce,foo=bar"), Proof()),
    **{f"PLAIN: {name}": (Handshake(), Token(data)) for name, data in PLAIN_TOKENS.items()},
    **{f"first: {name}": (SHA_256, Token(data)) for name, data in FIRST_MESSAGES.items()},
    **{f"final: {name}": (SHA_256, FIRST, proof) for name, proof in FINAL_MESSAGES.items()},
}


def outcomes(address: tuple[str, int], steps: Sequence[Step]) -> list[Outcome]:
    """Returns the outcomes of all steps and of a final Metadata request, on one new connection.

    If the broker closes the connection, the last outcome is `CLOSED`.
    """
    found: list[Outcome] = []
    with socket.create_connection(address, timeout=20) as stream:
        player = _Player(Connection(stream))
        for step in (*steps, Ask()):
            found.append(player.play(step))
            if found[-1] == CLOSED:
                break
    return found


@dataclass(slots=True)
class _Player:
    connection: Connection
    hash_name: str = ""
    first: bytes = b""
    challenge: bytes = b""

    def play(self, step: Step) -> Outcome:
        try:
            return self._played(step)
        except (ConnectionError, AssertionError):  # of `Connection.answer`
            return CLOSED

    def _played(self, step: Step) -> Outcome:
        call = self.connection.call
        match step:
            case Handshake(mechanism, version):
                answer = call(Api.SASL_HANDSHAKE, version, mechanism=mechanism)
                self.hash_name = f"sha{mechanism[-3:]}"
                return ["handshake", int(answer.error_code), sorted(answer.mechanisms)]
            case Token(data, version):
                self.first = data
                return self._token(data, version)
            case Proof(password, old, new, signs):
                first = signs or self.first
                final = final_message(self.hash_name, password, first, self.challenge)
                return self._token(final.replace(old, new, 1) if old else final, 2)
            case Ask(api, version, fields):
                answer = call(api, version, **fields)
                code = answer.topics[0].error_code if api is Api.METADATA else answer.error_code
                return [api.name, int(code)]
            case Frame(data):
                self.connection.correlation = 0
                self.connection.send_frame(data)
                frame = self.connection.receive_frame()
                return CLOSED if frame is None else ["frame", bool(frame)]

    def _token(self, data: bytes, version: int) -> Outcome:
        answer = self.connection.call(Api.SASL_AUTHENTICATE, version, auth_bytes=data)
        self.challenge = answer.auth_bytes
        lifetime = getattr(answer, "session_lifetime", None)
        return [
            "token",
            int(answer.error_code),
            answer.error_message,
            answer.auth_bytes[:2].decode(),
            None if lifetime is None else round(lifetime.total_seconds() * 1000),
        ]
