"""A mistake in the TLS or SASL options of `urteil broker` ends the command with exit code 2."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from checkers.cli.security_options import MECHANISMS, PROTOCOLS
from checkers.testing.broker import Broker, NotStarted
from reference_impl.wire.security.settings import Mechanism, SecurityProtocol

TLS = Path(__file__).parents[2] / "data" / "tls"
CERTIFICATE = ("--tls-cert", str(TLS / "broker.pem"))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--security-protocol", "SSL"), "SSL needs --tls-cert FILE; this makes both files: open"),
        (("--security-protocol", "TLS"), "'TLS' is not one of 'PLAINTEXT', 'SSL', 'SASL_PLAIN"),
        (("--security-protocol", "SASL_PLAINTEXT"), "needs a user who can connect: add --user"),
        (("--user", "alice=secret"), "--user, --users and --max-reauth-ms have no effect with"),
        (("--user", "alice="), "--user: the password of 'alice' is empty; write alice=PASSWORD"),
        (("--users", "absent.txt"), "--users absent.txt: No such file or directory; name a file"),
        (("--sasl-mechanism", "GSSAPI"), "'GSSAPI' is not one of 'PLAIN', 'SCRAM-SHA-256'"),
        (
            ("--security-protocol", "SSL", *CERTIFICATE, "--tls-key", "absent.key"),
            "--tls-key absent.key: No such file or directory; name a PEM file",
        ),
        (
            ("--security-protocol", "SSL", *CERTIFICATE, "--tls-key", str(TLS / "client.key")),
            "the key does not belong to the certificate; this makes a pair that fits: openssl",
        ),
    ],
)
def test_the_error_names_the_wrong_option_and_the_next_step(
    words: tuple[str, ...], complaint: str, call: Any
) -> None:
    output = call("broker", *words)
    assert output.exit_code == 2
    assert complaint in output.stderr


def test_a_key_with_a_passphrase_causes_no_prompt(
    call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    key = ("--tls-key", str(TLS / "with-passphrase.key"))
    output = call("broker", "--security-protocol", "SSL", *CERTIFICATE, *key)
    assert output.exit_code == 2
    assert "or the key has a passphrase" in output.stderr


def test_the_options_list_the_protocols_and_mechanisms_of_the_broker() -> None:
    assert tuple(SecurityProtocol) == PROTOCOLS
    assert tuple(Mechanism) == MECHANISMS


def test_a_broker_that_cannot_start_prints_the_reason() -> None:
    broker = Broker(brokers=1, security_protocol="SSL", tls_cert=TLS / "broker.pem")
    with pytest.raises(NotStarted, match="SSL needs --tls-key FILE"):
        broker.start()
