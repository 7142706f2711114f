"""What a command line selects: a spec, its variant, its constants, its properties, a budget."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import click

from model.faults import InputFault, UnknownName

if TYPE_CHECKING:  # a command's help must not wait for an engine
    from model.language.spec import Spec
    from model.variants import Variant

Settings = dict[str, int | bool]
SCALES = {"": 1, "k": 1_000, "M": 1_000_000}


def spec_options(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options of a command that takes a spec, and the spec that it takes without one."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            click.option(
                "--property",
                "patterns",
                multiple=True,
                help="Only these: a name or a glob; repeatable.",
            ),
            click.option(
                "--set",
                "given",
                multiple=True,
                metavar="NAME=VALUE",
                help="A constant; repeatable.",
            ),
            click.option("--variant", help="A version or a bug: urteil list versions|bugs."),
            click.argument("spec", default=default),
        ):
            command = option(command)
        return command

    return decorate


def settings(given: Sequence[str]) -> Settings:
    """`replicas=3`, `as_published=true` as a mapping; InputFault for anything else."""
    made: Settings = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name or not re.fullmatch(r"-?\d+|true|false", value):
            raise InputFault(f"--set {text}: write NAME=VALUE, an integer, true or false")
        made[name] = value == "true" if value in ("true", "false") else int(value)
    return made


def selected(spec: str, variant: str | None, given: Sequence[str]) -> tuple[Variant, Spec]:
    """The variant that was named, and the spec with its constants."""
    from model import specs, user_specs

    chosen = specs.find(spec, variant)
    made = chosen.make(settings(given))
    user_specs.read_whole(chosen, made)
    return chosen, made


def properties(spec: Spec, patterns: Sequence[str], name: str = "this spec") -> tuple[str, ...]:
    """The names of the properties that the patterns select; without patterns all but lemmas."""
    known = [claim.name for claim in spec.properties]
    for pattern in patterns:
        if not any(fnmatchcase(one, pattern) for one in known):
            raise UnknownName(f"property of {name}", pattern, known)
    chosen = tuple(n for n in known if any(fnmatchcase(n, p) for p in patterns))
    lemmas = {claim.name for claim in spec.claims if claim.lemma}
    return chosen or tuple(name for name in known if name not in lemmas)


def weights(given: Sequence[str], spec: Spec) -> dict[str, float]:
    """`crash*=3` as a mapping; InputFault for anything else, and for what names no action."""
    names = [action.name for action in spec.actions]
    made: dict[str, float] = {}
    for text in given:
        pattern, _, value = text.partition("=")
        if not re.fullmatch(r"\d+(\.\d+)?", value):
            raise InputFault(f"--weight {text}: write ACTION=N, a number from 0 on")
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UnknownName(f"action of {type(spec).__name__}", pattern, names)
        made[pattern] = float(value)
    return made


def statement(spec: Spec, name: str) -> str | None:
    """What the spec claims by the property of this name, its first paragraph; None: no words."""
    says = next((claim.says for claim in spec.properties if claim.name == name), "")
    return " ".join(says.partition("\n\n")[0].split()) or None


def constants(spec: Spec) -> Settings:
    """All constants of the spec with the values it has."""
    return {name: getattr(spec, name) for name in spec.constants}


def memory(text: str | None) -> int | None:
    """`4GB` or `500MB` in bytes; InputFault for anything else."""
    if text is None:
        return None
    if size := re.fullmatch(r"([1-9]\d*)(MB|GB)", text):
        return int(size[1]) * (10**6 if size[2] == "MB" else 10**9)
    raise InputFault(f"--memory {text}: write 4GB or 500MB, more than none")


def budget(text: str | None) -> tuple[int | None, float | None]:
    """`200k-states` or `60s` as (states, seconds); InputFault for anything else."""
    if text is None:
        return None, None
    if states := re.fullmatch(r"([1-9]\d*)([kM]?)-states", text):
        return int(states[1]) * SCALES[states[2]], None
    if (seconds := re.fullmatch(r"(\d+(?:\.\d+)?)s", text)) and float(seconds[1]):
        return None, float(seconds[1])
    raise InputFault(f"--budget {text}: write 60s or 200k-states, more than none")
