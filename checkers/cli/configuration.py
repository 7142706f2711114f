"""`[tool.urteil]` of the pyproject.toml in the working directory: option defaults; flags win.

A key is an option's long name, with hyphens or underscores: `seed = 7`, `set = ["replicas=2"]`. In
`[tool.urteil]` it is for every command that has the option, in `[tool.urteil.check]` for `check`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from model.faults import InputFault, UnknownName

FILE = Path("pyproject.toml")
TABLE = "tool.urteil"


def read(file: Path = FILE) -> Mapping[str, Any]:
    """The table `[tool.urteil]`, empty where there is none; InputFault if it is no TOML."""
    try:
        whole = tomllib.loads(file.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as why:
        raise InputFault(f"{file} can't be read: {why}") from why
    return _table("tool", whole.get("tool", {}), "urteil", file)


def _table(path: str, outer: object, name: str, file: Path) -> Mapping[str, Any]:
    found = outer.get(name, {}) if isinstance(outer, dict) else outer
    if not isinstance(found, dict):
        raise InputFault(f"{file}: {path}.{name} is no table: write [{path}.{name}]")
    return found


def defaults(
    name: str, commands: Mapping[str, str], load: Callable[[str], click.Command]
) -> dict[str, Any]:
    """The defaults that the file gives the options of a command.

    UnknownName for a key that no command has, InputFault for a value that an option cannot take.
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
                raise UnknownName(f"command of [{TABLE}]", key, commands)
        elif option := options.get(_long(key)):
            made[option.name or ""] = _value(command, option, f"[{TABLE}] {key}", value)
        else:
            every = {long for other in commands for long in named_options(load(other))}
            if _long(key) not in every:
                raise UnknownName(f"option of [{TABLE}]", key, every)
    section = f"{TABLE}.{name}"
    for key, value in _table(TABLE, table, name, FILE).items():
        if _long(key) not in options:
            raise UnknownName(f"option of [{section}]", key, options)
        option = options[_long(key)]
        made[option.name or ""] = _value(command, option, f"[{section}] {key}", value)
    return made


def named_options(command: click.Command) -> dict[str, click.Option]:
    """The options of a command by their long names: `property`, `bootstrap-servers`."""
    return {
        long.removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option)
        for long in option.opts
        if long.startswith("--")
    }


def _value(command: click.Command, option: click.Option, place: str, value: object) -> object:
    """The value, as the option takes it; one that it can't take is a fault of the file."""
    many = value if isinstance(value, list) else [value]
    if not option.multiple and isinstance(value, list):
        raise InputFault(f"{FILE}, {place}: one value, not a list")
    if any(isinstance(one, list | dict) for one in many):
        raise InputFault(f"{FILE}, {place}: {value!r} is no value of an option")
    given = [str(one) if option.multiple else one for one in many]
    try:
        option.type_cast_value(click.Context(command), given if option.multiple else given[0])
    except click.BadParameter as why:
        raise InputFault(f"{FILE}, {place}: {why.message}") from why
    return given if option.multiple else given[0]


def _long(key: str) -> str:
    return key.replace("_", "-")
