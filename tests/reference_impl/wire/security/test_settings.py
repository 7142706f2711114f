"""Security settings that do not fit together are refused.

The message names the wrong option or file, and says what to do next.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reference_impl.wire.authentication.tls import server_context
from reference_impl.wire.security.settings import (
    MAKE_CERTIFICATE,
    BadSecurity,
    Security,
    SecurityProtocol,
)
from reference_impl.wire.security.users import read_users
from tests.reference_impl.wire.authentication.conftest import TLS, security


def test_plaintext_needs_nothing() -> None:
    assert Security().protocol is SecurityProtocol.PLAINTEXT
    assert server_context(Security()) is None


@pytest.mark.parametrize(
    ("protocol", "settings", "refusal"),
    [
        ("PLAINTEXT", {"certificate": TLS / "broker.pem"}, "--tls-cert.* no effect.* use --secur"),
        ("SASL_PLAINTEXT", {"client_ca": TLS / "client.pem"}, "--tls-client-ca have no effect"),
        ("SSL", {"users": {"alice": "secret"}}, "--user.* no effect with SSL: use --security-pro"),
        ("SSL", {"max_reauth_ms": 1}, "--max-reauth-ms have no effect with SSL"),
        ("SSL", {"certificate": None}, "SSL needs --tls-cert FILE; .*openssl req"),
        ("SASL_SSL", {"key": None}, "SASL_SSL needs --tls-key FILE; .*openssl req"),
        ("SASL_PLAINTEXT", {"users": {}}, "needs a user who can connect: add --user"),
        ("SASL_PLAINTEXT", {"users": {"alice": ""}}, "the password of 'alice' is empty"),
        ("SASL_PLAINTEXT", {"users": {"": "secret"}}, "the name of a user is empty"),
        ("SASL_PLAINTEXT", {"users": {"a\0": "secret"}}, "has a zero byte"),
        ("SASL_PLAINTEXT", {"users": {"a": "\udcff"}}, "is not UTF-8"),
        ("SASL_PLAINTEXT", {"mechanisms": ()}, "--sasl-mechanism: name at least one of PLAIN, SC"),
        ("SASL_PLAINTEXT", {"max_reauth_ms": -1}, "--max-reauth-ms -1: 0 or more"),
    ],
)
def test_settings_that_do_not_fit_are_refused(
    protocol: str, settings: dict[str, Any], refusal: str
) -> None:
    with pytest.raises(BadSecurity, match=refusal):
        security(protocol, **settings)


@pytest.mark.parametrize(
    ("files", "refusal"),
    [
        ({"certificate": "missing.pem"}, "--tls-cert .*missing.pem: No such file or directory"),
        ({"key": "missing.key"}, "--tls-key .*missing.key: No such file or directory; name a PEM"),
        ({"key": "client.key"}, "broker.pem.* client.key: the key does not belong to the cert"),
        ({"key": "with-passphrase.key"}, "is not PEM, or the key has a passphrase; .*openssl"),
        ({"certificate": "README.md"}, "README.md.*is not PEM, or"),
        ({"client_ca": "missing.pem"}, "--tls-client-ca .*missing.pem: No such file"),
        ({"client_ca": "README.md"}, "--tls-client-ca .*README.md: there is no certificate in it"),
    ],
)
def test_files_that_cannot_be_used_are_refused(files: dict[str, str], refusal: str) -> None:
    settings = security("SSL", **{name: TLS / file for name, file in files.items()})
    with pytest.raises(BadSecurity, match=refusal.replace(" client.key", " .*client.key")):
        server_context(settings)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="the command needs OpenSSL's program")
def test_the_command_in_the_refusal_makes_a_certificate(tmp_path: Path) -> None:
    subprocess.run(shlex.split(MAKE_CERTIFICATE), cwd=tmp_path, check=True, capture_output=True)
    made = security("SSL", certificate=tmp_path / "broker.pem", key=tmp_path / "broker.key")
    assert server_context(made) is not None


def test_passwords_are_not_shown() -> None:
    assert "secret" not in repr(security("SASL_PLAINTEXT"))


# ---------------------------------------------------------------- users


def test_users_come_from_options_and_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text("# of the tests\nbob= a=b \n\ncarla=geheim\n")
    assert read_users(["alice=secret"], file) == {
        "alice": "secret",
        "bob": " a=b ",
        "carla": "geheim",
    }
    assert read_users() == {}


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        (b"alice", "line 1: there is no '='; write NAME=PASSWORD"),
        (b"\nalice=", "line 2: the password of 'alice' is empty"),
        (b"=secret", "line 1: the name of a user is empty"),
        (b"alice=a\nalice=b", "line 2: 'alice' has a password already"),
        (b"alice=\xff", "byte 6 is not UTF-8"),
    ],
)
def test_a_line_that_is_no_user_is_refused(text: bytes, refusal: str, tmp_path: Path) -> None:
    (tmp_path / "users").write_bytes(text)
    with pytest.raises(BadSecurity, match=f"--users .*users.*{refusal}"):
        read_users((), tmp_path / "users")


def test_a_missing_file_of_users_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSecurity, match="No such file or directory; name a file with NAME"):
        read_users((), tmp_path / "users")


def test_a_refused_option_does_not_show_the_password() -> None:
    with pytest.raises(BadSecurity) as refused:
        read_users(["secret"])
    assert "secret" not in str(refused.value)
