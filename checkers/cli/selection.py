"""The options that several commands share: spec, variant, constants, properties and budget."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import click

from checkers.cli import completion
from model.faults import InputFault, UnknownName

if TYPE_CHECKING:  # the help of a command must not import an engine
    from checkers.cli.run import Run
    from model.language.spec import Spec
    from model.variants import Variant

Settings = dict[str, int | bool]
SCALES = {"": 1, "k": 1_000, "M": 1_000_000}


def spec_options(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in (
            click.option(
                "--property",
                "patterns",
                multiple=True,
                shell_complete=completion.properties,
                help="Check only this property: a name or a glob; repeatable.",
            ),
            click.option(
                "--set",
                "assignments",
                multiple=True,
                metavar="NAME=VALUE",
                shell_complete=completion.constants,
                help="Set a constant of the spec, such as replicas=3; repeatable.",
            ),
            click.option(
                "--kafka",
                metavar="RELEASE",
                shell_complete=completion.releases,
                help="Take the version with the rules of this Kafka release, such as 4.3.",
            ),
            click.option(
                "--variant",
                shell_complete=completion.variants,
                help="A version or bug of the spec: see urteil list versions, urteil list bugs.",
            ),
            click.argument("spec", default=default, shell_complete=completion.specs),
        ):
            command = option(command)
        return command

    return decorate


def settings(assignments: Sequence[str]) -> Settings:
    """Returns the values of constants, parsed from texts such as `replicas=3`. Raises InputFault
    for a malformed text.
    """
    made: Settings = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals or not name or not re.fullmatch(r"-?\d+|true|false", value):
            raise InputFault(f"--set {text}: write NAME=VALUE; VALUE is an integer, true or false")
        made[name] = value == "true" if value in ("true", "false") else int(value)
    return made


def selected(
    spec: str, variant: str | None, assignments: Sequence[str], kafka: str | None = None
) -> tuple[Variant, Spec]:
    """Returns the selected variant of a spec, and the spec with the constants in `assignments`.

    With `kafka="4.3"`, the variant has the rules of this release. Raises InputFault if both
    `variant` and `kafka` are set.
    """
    from model import shipped, specs, user_specs

    if kafka is None:
        chosen = specs.find(spec, variant)
    else:
        no_variant(variant, kafka)
        chosen = shipped.shipped(spec, kafka).version
    made = chosen.make(settings(assignments))
    user_specs.read_whole(chosen, made)
    return chosen, made


def no_variant(variant: str | None, kafka: str) -> None:
    if variant is not None:
        raise InputFault(
            f"--variant {variant} --kafka {kafka}: both choose the rules\n  leave one of them out"
        )


def properties(spec: Spec, patterns: Sequence[str], name: str = "this spec") -> tuple[str, ...]:
    """Returns the properties of a spec that match one of the patterns. Without patterns, returns
    all properties except the lemmas. Raises UnknownName if a pattern matches no property.
    """
    names = [claim.name for claim in spec.properties]
    for pattern in patterns:
        if not any(fnmatchcase(one, pattern) for one in names):
            raise UnknownName("property", pattern, names, of=name)
    chosen = tuple(n for n in names if any(fnmatchcase(n, p) for p in patterns))
    lemmas = {claim.name for claim in spec.claims if claim.lemma}
    return chosen or tuple(name for name in names if name not in lemmas)


def weights(texts: Sequence[str], spec: Spec, name: str) -> dict[str, float]:
    """Returns the weights of actions, parsed from texts such as `crash*=3`. The keys are patterns
    of names of actions. Raises InputFault for a malformed text.
    """
    names = [action.name for action in spec.actions]
    made: dict[str, float] = {}
    for text in texts:
        pattern, _, value = text.partition("=")
        if not re.fullmatch(r"\d+(\.\d+)?", value):
            raise InputFault(f"--weight {text}: write ACTION=N; N is a number, at least 0")
        if not any(fnmatchcase(action, pattern) for action in names):
            raise UnknownName("action", pattern, names, of=name)
        made[pattern] = float(value)
    return made


def statement(spec: Spec, name: str) -> str | None:
    """Returns the first paragraph of the property's docstring. Returns None if there is no
    docstring.
    """
    text = next((claim.summary for claim in spec.properties if claim.name == name), "")
    return " ".join(text.partition("\n\n")[0].split()) or None


def in_force(variant: Variant) -> str | None:
    return None if variant.in_force is None else str(variant.in_force)


def note_releases(run: Run, variant: Variant) -> None:
    """Prints the releases of Kafka that behave as `variant`, which is a version of a spec or a bug.
    Prints nothing for a user's own spec.

    If `variant` is the spec's default version and the latest release does not have it, also prints
    the version that models the latest release.
    """
    from model.releases import LATEST
    from model.shipped import NotShipped, shipped

    if releases := in_force(variant):
        run.note(f"{variant.spec} {variant.name}: {releases}")
    if not variant.default or variant.in_force is None or variant.in_force.has(LATEST):
        return
    try:
        version = shipped(variant.spec, LATEST).version.name
    except NotShipped:
        return
    run.note(f"Kafka {LATEST} has the version {version}: --kafka {LATEST}")


def constants(spec: Spec) -> Settings:
    return {name: getattr(spec, name) for name in spec.constants}


def memory(text: str | None) -> int | None:
    """Returns the number of bytes in a text such as `4GB` or `500MB`, or None if `text` is None.
    Raises InputFault for any other text.
    """
    if text is None:
        return None
    if size := re.fullmatch(r"([1-9]\d*)(MB|GB)", text):
        return int(size[1]) * (10**6 if size[2] == "MB" else 10**9)
    raise InputFault(f"--memory {text}: write a positive size such as 4GB or 500MB")


def budget(text: str | None) -> tuple[int | None, float | None]:
    """Returns the two limits of a budget: a number of states and a number of seconds. For
    `200k-states` the limits are 200,000 states and None, and for `60s` they are None and 60
    seconds. If `text` is None, both limits are None. Raises InputFault for any other text.
    """
    if text is None:
        return None, None
    if states := re.fullmatch(r"([1-9]\d*)([kM]?)-states", text):
        return int(states[1]) * SCALES[states[2]], None
    if (seconds := re.fullmatch(r"(\d+(?:\.\d+)?)s", text)) and float(seconds[1]):
        return None, float(seconds[1])
    raise InputFault(f"--budget {text}: write a positive budget such as 60s or 200k-states")
