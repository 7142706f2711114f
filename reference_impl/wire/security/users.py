"""Reads users and their passwords from options of the command line or from a file.

Each option and each line of the file has the form NAME=PASSWORD:

    # comments and empty lines are skipped
    alice=secret

The name is the text before the first `=`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from reference_impl.wire.security.settings import BadSecurity, check_user


def read_users(options: Iterable[str] = (), file: Path | None = None) -> dict[str, str]:
    """Returns the password of each user. Raises BadSecurity with the option or the line that is
    wrong.
    """
    users: dict[str, str] = {}
    for text in options:
        _add(users, text, "--user")
    if file is not None:
        for number, line in enumerate(_lines(file), 1):
            if line.strip() and not line.startswith("#"):
                _add(users, line, f"--users {file}, line {number}")
    return users


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise BadSecurity(
            f"--users {file}: {error.strerror}; name a file with NAME=PASSWORD lines"
        ) from error
    except UnicodeDecodeError as error:
        raise BadSecurity(
            f"--users {file}: byte {error.start} is not UTF-8; save the file as UTF-8"
        ) from error


def _add(users: dict[str, str], text: str, place: str) -> None:
    name, equals, password = text.partition("=")
    if not equals:  # the text may be a password, so it is not repeated
        raise BadSecurity(f"{place}: there is no '='; write NAME=PASSWORD")
    check_user(name, password, place)
    if name in users:
        raise BadSecurity(f"{place}: {name!r} has a password already; remove one of the two")
    users[name] = password
