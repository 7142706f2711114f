"""The security settings of the ports on which brokers listen for clients.

Each line names a security protocol and its effect:

    PLAINTEXT        neither encrypted nor authenticated
    SSL              encrypted; with a client CA, clients need certificates
    SASL_PLAINTEXT   clients authenticate themselves
    SASL_SSL         both

Source: KIP-12, KIP-43, KIP-84 (SCRAM), KIP-368 (connections.max.reauth.ms).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from model.faults import InputFault

# Makes a certificate that signs itself; a client trusts it as its CA.
MAKE_CERTIFICATE: Final = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650"
    " -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    " -keyout broker.key -out broker.pem"
)


class BadSecurity(InputFault):
    """Raised for wrong security settings. The message names the wrong option, and says what the
    user should do.
    """


class SecurityProtocol(StrEnum):
    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def encrypts(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def authenticates(self) -> bool:
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class Mechanism(StrEnum):
    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """The security settings of all listeners. The constructor raises BadSecurity if the settings
    do not fit together.
    """

    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    certificate: Path | None = None  # PEM, with the chain
    key: Path | None = None  # PEM
    client_ca: Path | None = None  # None: clients need no certificate
    mechanisms: tuple[Mechanism, ...] = tuple(Mechanism)  # sasl.enabled.mechanisms
    # Maps names to passwords.
    users: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    # A client must authenticate itself again after this time; 0 sets no limit.
    max_reauth_ms: int = 0  # connections.max.reauth.ms
    # For the TLS handshake and the authentication.
    admitted_within_s: float = 30.0

    def __post_init__(self) -> None:
        if self.protocol.encrypts:
            self._check_certificate()
        elif self.certificate or self.key or self.client_ca:
            raise BadSecurity(
                f"--tls-cert, --tls-key and --tls-client-ca have no effect with {self.protocol}: "
                "use --security-protocol SSL or SASL_SSL"
            )
        if self.protocol.authenticates:
            self._check_users()
        elif self.users or self.max_reauth_ms:
            raise BadSecurity(
                f"--user, --users and --max-reauth-ms have no effect with {self.protocol}: "
                "use --security-protocol SASL_PLAINTEXT or SASL_SSL"
            )

    def _check_certificate(self) -> None:
        if self.certificate is None or self.key is None:
            missing = "--tls-cert" if self.certificate is None else "--tls-key"
            raise BadSecurity(
                f"--security-protocol {self.protocol} needs {missing} FILE; "
                f"this makes both files: {MAKE_CERTIFICATE}"
            )

    def _check_users(self) -> None:
        if not self.users:
            raise BadSecurity(
                f"--security-protocol {self.protocol} needs a user who can connect: "
                "add --user NAME=PASSWORD or --users FILE"
            )
        if not self.mechanisms:
            raise BadSecurity(f"--sasl-mechanism: name at least one of {', '.join(Mechanism)}")
        if self.max_reauth_ms < 0:
            raise BadSecurity(f"--max-reauth-ms {self.max_reauth_ms}: 0 or more, in milliseconds")
        for name, password in self.users.items():
            check_user(name, password, "--user")


def check_user(name: str, password: str, place: str) -> None:
    """Raises BadSecurity if a name or a password is empty, has a zero byte, or is not valid UTF-8.

    The message begins with `place`, which is the option or the file that contains the user.
    """
    if not name:
        raise BadSecurity(f"{place}: the name of a user is empty; write NAME=PASSWORD")
    if not password:
        raise BadSecurity(f"{place}: the password of {name!r} is empty; write {name}=PASSWORD")
    if "\0" in name + password:
        raise BadSecurity(f"{place}: {name!r} has a zero byte, which separates fields in PLAIN")
    try:
        (name + password).encode()
    except UnicodeEncodeError as error:
        raise BadSecurity(
            f"{place}: {name!r} or its password is not UTF-8; write both in UTF-8"
        ) from error


NO_SECURITY: Final = Security()
