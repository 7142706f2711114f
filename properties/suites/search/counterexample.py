"""Writes a run that a search found as a commented program. The program repeats the run.

    state = ReplicationMachine("idempotent", bugs=bugs_named("no-dedup"), judge=("...",))
    # 38 ms  broker 1 leads orders-0 in leader epoch 0
    #        in-sync replicas of orders-0: 1, 2, 3
    # sends values; they are appended, but their responses are lost
    state.send_and_lose_responses(count=1)
    # 62 ms  producer 1 sends v0
    state.teardown()  # ends all faults, waits for recovery and judges the run
    # 390 ms  producer 1 gets v0 acknowledged at offset 1 of orders-0
    # Broken: exactly_once_publish: v0 is at offsets 0, 1

A call runs a rule of the machine (a Hypothesis state machine). The comment above a call is the
first sentence of the rule's docstring. The comment after `teardown()` is the machine's `TEARDOWN`.
A comment with a time lists events of the call above it. To find these events, this module runs the
program.
"""

from __future__ import annotations

import ast
import importlib
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from properties.suites.machines.judged import PROGRESS, JudgedMachine, Shown
from properties.suites.search.programs import Call, calls_in
from properties.suites.search.searching import Found, replay
from reference_impl.node.bugs import Bugs, bugs_named
from reference_impl.node.seeded_bugs import SEEDED_BUGS

_WIDTH: Final = 100
_EVENTS: Final = 16  # of one call; more are counted
_TEARDOWN: Final = "state.teardown()"
_NO_RULE: Final = "the shrunk run needs no other step; teardown() "


def program(machine: type[JudgedMachine], found: Found, setting: str, bugs: Bugs) -> str:
    """Returns a commented program that repeats the run `found`. Like this run, the program ends
    with the exception `Shown`.
    """
    names = ", ".join(f'"{name}"' for name in sorted(bug.value for bug in bugs))
    broker = f", bugs=bugs_named({names})" if bugs else ""
    imports = [f"from {machine.__module__} import {machine.__name__}"]
    if bugs:
        imports.append("from reference_impl.node.bugs import bugs_named")
    state = machine(setting, bugs=bugs, judge=(found.name,))
    return "\n".join(
        (
            *imports,
            "",
            *_comment(f"setting {setting}: {machine.SETTINGS[setting].condition}"),
            *(line for row in SEEDED_BUGS if row.bug in bugs
              for line in _comment(f"bug {row.name}: {row.changes}")),
            f'state = {machine.__name__}("{setting}"{broker}, judge=("{found.name}",))',
            *_events(state),
            *_story(state, found.calls),
            f"# {_verdict(machine, found)}",
            "",
        )
    )  # fmt: skip


def _story(state: JudgedMachine, calls: tuple[Call, ...]) -> Iterator[str]:
    for call in calls:
        yield _line(str(call), _first_sentence(getattr(type(state), call.rule).__doc__))
        call.run(state)
        yield from _events(state)
    yield _line(_TEARDOWN, ("" if calls else _NO_RULE) + state.TEARDOWN)
    with suppress(Shown):
        state.teardown()
    yield from _events(state)


def _line(call: str, explained: str) -> str:
    line = f"{call}  # {explained}"
    return line if explained and len(line) <= _WIDTH else "\n".join((*_comment(explained), call))


def _first_sentence(docstring: str | None) -> str:
    sentence = " ".join((docstring or "").split()).partition(". ")[0].rstrip(".")
    return sentence[:1].lower() + sentence[1:]


def _events(state: JudgedMachine) -> list[str]:
    events = state.new_events()
    more = [f"and {len(events) - _EVENTS} more events"] if len(events) > _EVENTS else []
    lines = (*events[:_EVENTS], *more)
    at = f"{state.now_ms} ms  "
    return [
        line
        for number, event in enumerate(lines)
        for line in _comment((" " * len(at) if number else at) + event, indent=len(at) + 2)
    ]


def _verdict(machine: type[JudgedMachine], found: Found) -> str:
    is_broken = found.name in machine.ALWAYS or found.name == PROGRESS
    shown = found.name if found.name.endswith(found.how) else f"{found.name}: {found.how}"
    return f"{'Broken' if is_broken else 'Shown'}: {shown}"


def _comment(text: str, indent: int = 2) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent="# ",
        subsequent_indent="# " + " " * indent,
        drop_whitespace=True,
        break_long_words=False,
        break_on_hyphens=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """The parts of a printed counterexample. The module's docstring has an example of a printed
    counterexample.

    `name` is the name of the broken claim, the reached goal or the found anomaly.
    """

    machine: type[JudgedMachine]
    setting: str
    bugs: Bugs
    name: str
    calls: tuple[Call, ...]


def parse(text: str) -> Printed:
    """Returns the parts of a counterexample that `program` printed. The comments have no effect
    on the result.
    """
    module = ast.parse(text)
    imported = next(node for node in module.body if isinstance(node, ast.ImportFrom))
    made = next(node.value for node in module.body if isinstance(node, ast.Assign))
    assert isinstance(made, ast.Call)
    assert imported.module is not None
    arguments = {word.arg: word.value for word in made.keywords}
    bugs = arguments.get("bugs")
    names = [ast.literal_eval(name) for name in bugs.args] if isinstance(bugs, ast.Call) else []
    (name,) = ast.literal_eval(arguments["judge"])
    return Printed(
        machine=getattr(importlib.import_module(imported.module), imported.names[0].name),
        setting=ast.literal_eval(made.args[0]),
        bugs=bugs_named(*names),
        name=name,
        calls=calls_in(text),
    )


def reprint(text: str) -> str:
    """Runs a printed program, and returns the program with new comments: the events and the
    result of this run.
    """
    printed = parse(text)
    state = printed.machine(printed.setting, bugs=printed.bugs, judge=(printed.name,))
    shown = replay(state, printed.calls)
    assert shown is not None, f"the program no longer shows {printed.name}:\n{text}"
    found = Found(name=shown.name, how=shown.how, calls=printed.calls)
    return program(printed.machine, found, printed.setting, printed.bugs)
