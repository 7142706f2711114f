"""The users that may connect to a cluster over the network, and their credentials.

An AlterUserScramCredentials request changes SCRAM credentials on all brokers at once. Passwords for
PLAIN never change.

The file `scram-credentials.json` in the data directory stores all changes, including deletions. The
stored changes replace the credentials of the settings.

Source: ScramImage.describe, ScramControlManager; PlainServerCallbackHandler.
Simplified: Credentials are not part of the metadata. They are stored in a file of their own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from reference_impl.disk.files import BadDataDir, replace_file
from reference_impl.wire.security.exchange import Exchange
from reference_impl.wire.security.plain import PlainExchange
from reference_impl.wire.security.scram import ScramCredential, ScramExchange, ScramMechanism
from reference_impl.wire.security.settings import Mechanism, Security

SCRAM: Final[Mapping[Mechanism, ScramMechanism]] = {
    Mechanism.SCRAM_SHA_256: ScramMechanism.SHA_256,
    Mechanism.SCRAM_SHA_512: ScramMechanism.SHA_512,
}

FILE: Final = "scram-credentials.json"
Key = tuple[ScramMechanism, str]  # and the name of the user
Changes = Mapping[Key, ScramCredential | None]  # None: deleted


def _none() -> dict[ScramMechanism, dict[str, ScramCredential]]:
    return {mechanism: {} for mechanism in ScramMechanism}


@dataclass(slots=True)
class Credentials:
    """The users' passwords for PLAIN, and their credentials for SCRAM. By default there are no
    users.
    """

    passwords: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    scram: dict[ScramMechanism, dict[str, ScramCredential]] = field(
        default_factory=_none, repr=False
    )
    changed: dict[Key, ScramCredential | None] = field(
        default_factory=dict[Key, ScramCredential | None], repr=False
    )
    file: Path | None = None  # of the changes; None: they are lost when the process ends

    @classmethod
    def of(cls, security: Security) -> Credentials:
        """Returns the credentials of the users in `security`. Each user gets a credential for
        each enabled SCRAM mechanism.
        """
        known = cls(security.users)
        for mechanism in security.mechanisms if security.users else ():
            if mechanism in SCRAM:
                of = SCRAM[mechanism]
                for name, password in security.users.items():
                    known.scram[of][name] = ScramCredential.of_password(of, password)
        return known

    def keep_in(self, folder: Path) -> None:
        """Applies the changes that a file in `folder` contains, if the file exists. Stores all
        later changes in this file. Raises BadDataDir if the file is damaged.
        """
        self.file = folder / FILE
        if self.file.exists():
            self.apply(_read(self.file))

    def change(self, changes: Changes) -> None:
        """Adds, replaces and deletes credentials, in memory and in the data directory. If the
        disk fails, raises OSError and changes nothing.
        """
        if self.file is not None:
            replace_file(self.file, _written({**self.changed, **changes}))
        self.apply(changes)

    def apply(self, changes: Changes) -> None:
        """Changes the credentials in memory only."""
        self.changed.update(changes)
        for (mechanism, name), credential in changes.items():
            self.scram[mechanism].pop(name, None)
            if credential is not None:
                self.scram[mechanism][name] = credential

    def exchange(self, mechanism: Mechanism) -> Exchange:
        if mechanism is Mechanism.PLAIN:
            return PlainExchange(self.passwords)
        scram = SCRAM[mechanism]
        return ScramExchange(scram, self.scram[scram])


def _written(changes: Changes) -> bytes:
    rows = [
        {
            "user": name,
            "mechanism": mechanism.name,
            "credential": credential
            and {
                "salt": credential.salt.hex(),
                "stored_key": credential.stored_key.hex(),
                "server_key": credential.server_key.hex(),
                "iterations": credential.iterations,
            },
        }
        for (mechanism, name), credential in changes.items()
    ]
    return json.dumps(rows, indent=1).encode()


def _read(file: Path) -> Changes:
    try:
        return {
            (ScramMechanism[row["mechanism"]], row["user"]): row["credential"]
            and ScramCredential(
                salt=bytes.fromhex(row["credential"]["salt"]),
                stored_key=bytes.fromhex(row["credential"]["stored_key"]),
                server_key=bytes.fromhex(row["credential"]["server_key"]),
                iterations=int(row["credential"]["iterations"]),
            )
            for row in json.loads(file.read_bytes())
        }
    except (ValueError, KeyError, TypeError) as error:
        raise BadDataDir(
            f"{file}: {error!r}; restore the file, or delete it to have the users of the options"
        ) from error
