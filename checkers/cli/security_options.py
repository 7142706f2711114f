"""The options of `urteil broker` for TLS and SASL."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from reference_impl.wire.security.settings import Security

# As in reference_impl.wire.security.settings, which `--help` need not import.
PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_FILE: Final = click.Path(path_type=Path, dir_okay=False)
_OPTIONS: Final = (
    click.option(
        "--security-protocol",
        type=click.Choice(PROTOCOLS),
        default=PROTOCOLS[0],
        show_default=True,
        help="How clients connect: SSL encrypts (TLS), SASL authenticates.",
    ),
    click.option(
        "--tls-cert",
        type=_FILE,
        help="Certificate of all brokers and its chain, in PEM; SSL and SASL_SSL need it.",
    ),
    click.option("--tls-key", type=_FILE, help="Its private key, in PEM, without a passphrase."),
    click.option(
        "--tls-client-ca",
        type=_FILE,
        help="Certificate of a CA in PEM: clients need a certificate of it. Default: they need"
        " none.",
    ),
    click.option(
        "--sasl-mechanism",
        "mechanisms",
        type=click.Choice(MECHANISMS),
        multiple=True,
        help="A mechanism that clients may use; repeatable. Default: all.",
    ),
    click.option(
        "--user",
        "users",
        metavar="NAME=PASSWORD",
        multiple=True,
        help="A user of every mechanism; repeatable.",
    ),
    click.option("--users", "users_file", type=_FILE, help="File with NAME=PASSWORD lines."),
    click.option(
        "--max-reauth-ms",
        default=0,
        show_default=True,
        help="Clients authenticate again within this time, or are disconnected; 0: never.",
    ),
)


_NAMES: Final = (
    "security_protocol",
    "tls_cert",
    "tls_key",
    "tls_client_ca",
    "mechanisms",
    "users",
    "users_file",
    "max_reauth_ms",
)


def security_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options for TLS and SASL to a command. The command receives their values as one
    mapping, in the parameter `security`.
    """

    @functools.wraps(command)
    def with_security(*args: Any, **values: Any) -> Any:
        given = {name: values.pop(name) for name in _NAMES}
        return command(*args, security=given, **values)

    for option in reversed(_OPTIONS):
        with_security = option(with_security)
    return with_security


def read_security(values: Mapping[str, Any]) -> Security:
    """Returns the security settings that the options describe. Raises InputFault if the options
    contradict each other.
    """
    from reference_impl.wire.security.settings import Mechanism, Security, SecurityProtocol
    from reference_impl.wire.security.users import read_users

    return Security(
        protocol=SecurityProtocol(values["security_protocol"]),
        certificate=values["tls_cert"],
        key=values["tls_key"],
        client_ca=values["tls_client_ca"],
        mechanisms=tuple(Mechanism(name) for name in values["mechanisms"] or MECHANISMS),
        users=read_users(values["users"], values["users_file"]),
        max_reauth_ms=values["max_reauth_ms"],
    )
