"""The users of a served cluster, as its brokers know them.

PLAIN checks a client's password against the settings; these passwords never change. SCRAM checks a
client's proof against credentials. AlterUserScramCredentials changes them for all brokers at once.

Source: ScramImage.describe, ScramControlManager; PlainServerCallbackHandler.
Simplified: credentials are not part of the metadata, so a data directory does not keep changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from reference_impl.wire.security.exchange import Exchange
from reference_impl.wire.security.plain import PlainExchange
from reference_impl.wire.security.scram import ScramCredential, ScramExchange, ScramMechanism
from reference_impl.wire.security.settings import Mechanism, Security

SCRAM: Final[Mapping[Mechanism, ScramMechanism]] = {
    Mechanism.SCRAM_SHA_256: ScramMechanism.SHA_256,
    Mechanism.SCRAM_SHA_512: ScramMechanism.SHA_512,
}


def _none() -> dict[ScramMechanism, dict[str, ScramCredential]]:
    return {mechanism: {} for mechanism in ScramMechanism}


@dataclass(slots=True)
class Credentials:
    """The users' passwords for PLAIN and credentials for SCRAM; by default there are none."""

    passwords: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    scram: dict[ScramMechanism, dict[str, ScramCredential]] = field(
        default_factory=_none, repr=False
    )
    can_change: bool = True  # all brokers of the cluster use this object

    @classmethod
    def of(cls, security: Security) -> Credentials:
        """Returns all users' passwords, and their credentials for each SCRAM mechanism."""
        known = cls(security.users)
        for mechanism in security.mechanisms if security.users else ():
            if mechanism in SCRAM:
                of = SCRAM[mechanism]
                for name, password in security.users.items():
                    known.scram[of][name] = ScramCredential.of_password(of, password)
        return known

    def exchange(self, mechanism: Mechanism) -> Exchange:
        if mechanism is Mechanism.PLAIN:
            return PlainExchange(self.passwords)
        scram = SCRAM[mechanism]
        return ScramExchange(scram, self.scram[scram])
