"""Reads default values of options from the table `[tool.urteil]` of pyproject.toml in the working
directory.

A key is the long name of an option, with hyphens or underscores, such as `seed = 7` or
`set = ["replicas=2"]`. A key in the table `[tool.urteil.check]` sets an option of the command
`check`, and so on for the other commands. An option on the command line overrides the value in the
file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from model.faults import InputFault, UnknownName

FILE = Path("pyproject.toml")
TABLE = "tool.urteil"


def read(file: Path = FILE) -> Mapping[str, Any]:
    """Returns the table `[tool.urteil]` of pyproject.toml. Returns an empty table if the file or
    the table does not exist. Raises InputFault if the file is unreadable.
    """
    try:
        text = file.read_text(encoding="utf-8")
        import tomllib  # late: most folders have no such file

        whole = tomllib.loads(text)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as why:
        raise InputFault(
            f"{file}: cannot be read ({why}); correct it, or run in another folder"
        ) from why
    return _table("tool", whole.get("tool", {}), "urteil", file)


def _table(path: str, outer: object, name: str, file: Path) -> Mapping[str, Any]:
    found = outer.get(name, {}) if isinstance(outer, dict) else outer
    if not isinstance(found, dict):
        raise InputFault(f"{file}: {path}.{name} is not a table: write [{path}.{name}]")
    return found


def defaults(
    name: str, commands: Mapping[str, str], load: Callable[[str], click.Command]
) -> dict[str, Any]:
    """Returns the default values of a command's options from pyproject.toml.

    Raises UnknownName for an unknown key, and InputFault for a value that the option does not
    accept.
    """
    table = read()
    if not table:
        return {}
    command = load(name)
    options = named_options(command)
    made: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            if key not in commands:
                raise UnknownName("command", key, commands, of=f"[{TABLE}]")
        elif option := options.get(_long(key)):
            made[option.name or ""] = _value(command, option, f"[{TABLE}] {key}", value)
        else:
            every = {long for other in commands for long in named_options(load(other))}
            if _long(key) not in every:
                raise UnknownName("option", key, every, of=f"[{TABLE}]")
    section = f"{TABLE}.{name}"
    for key, value in _table(TABLE, table, name, FILE).items():
        if _long(key) not in options:
            raise UnknownName("option", key, options, of=f"[{section}]")
        option = options[_long(key)]
        made[option.name or ""] = _value(command, option, f"[{section}] {key}", value)
    return made


def named_options(command: click.Command) -> dict[str, click.Option]:
    return {
        long.removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option)
        for long in option.opts
        if long.startswith("--")
    }


def _value(command: click.Command, option: click.Option, place: str, value: object) -> object:
    many = value if isinstance(value, list) else [value]
    if not option.multiple and isinstance(value, list):
        raise InputFault(f"{FILE}, {place}: write one value, not a list")
    if any(isinstance(one, list | dict) for one in many):
        raise InputFault(f"{FILE}, {place}: write a text, a number or a boolean, not {value!r}")
    texts = [str(one) if option.multiple else one for one in many]
    try:
        option.type_cast_value(click.Context(command), texts if option.multiple else texts[0])
    except click.BadParameter as why:
        raise InputFault(f"{FILE}, {place}: {why.message}") from why
    return texts if option.multiple else texts[0]


def _long(key: str) -> str:
    return key.replace("_", "-")
