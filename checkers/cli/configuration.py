"""`[tool.urteil]` of the pyproject.toml in the working directory: option defaults; flags win.

A key of `[tool.urteil]` is an option of every command that has it, a key of
`[tool.urteil.check]` an option of `check`. Keys are option names, with underscores or hyphens.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from model.faults import InputFault, UnknownName

FILE = Path("pyproject.toml")


def read(file: Path = FILE) -> Mapping[str, Any]:
    """The table `[tool.urteil]`, empty where there is none; an InputFault if it is no TOML."""
    try:
        whole = tomllib.loads(file.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as why:
        raise InputFault(f"{file} can't be read: {why}") from why
    table: Mapping[str, Any] = whole.get("tool", {}).get("urteil", {})
    return table


def defaults(
    command: click.Command, commands: Mapping[str, str], table: Mapping[str, Any]
) -> dict[str, Any]:
    """The defaults that the table gives a command's options; UnknownName for a key that is none."""
    options = {p.name: p for p in command.params if isinstance(p, click.Option) and p.name}
    general = {_option(k): v for k, v in table.items() if not isinstance(v, dict)}
    special = {_option(k): v for k, v in table.get(command.name or "", {}).items()}
    for section in (k for k, v in table.items() if isinstance(v, dict)):
        if section not in commands:
            raise UnknownName("command of [tool.urteil]", section, commands)
    for key in special:
        if key not in options:
            raise UnknownName(f"option of [tool.urteil.{command.name}]", key, options)
    return {k: v for k, v in {**general, **special}.items() if k in options}


def _option(key: str) -> str:
    return key.replace("-", "_")
