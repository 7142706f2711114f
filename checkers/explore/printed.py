"""Renders the last state of a path for a terminal: path, state, actions and properties.

With all details, the text contains parts such as these:

         1  controller_elect_leader(b0)
              registration  leader_epoch -1 → 0, leader nothing → b0
    disabled actions, with the first false conjunct
        leader_write(b0)  line 151: replica[b0].leader nothing is b0

The first two lines are a step of the path and its changes. The last line has a disabled action and
its first false conjunct, `replica[b0].leader is b0` in line 151 of the spec. The value of the
variable in this state, `nothing`, is printed after the variable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checkers.explore.views import View


def printed(view: View, *, verbose: int = 0) -> str:
    """Returns the view as text.

    If `verbose` is 1, the text also has the disabled actions. If `verbose` is 2, it also has the
    changes that each enabled action makes.
    """
    return "\n".join(_lines(view, verbose))


def _lines(view: View, verbose: int) -> Iterator[str]:
    constants = ", ".join(f"{n} {str(v).lower()}" for n, v in view["constants"].items())
    yield f"{view['spec']} {view['variant']}: {constants or 'no constants'}"
    yield ""
    yield f"  {0:4}  {view['start']}"
    for k, step in enumerate(view["steps"], 1):
        yield f"  {k:4}  {step['call']}"
        yield from _changes(step["changes"])
    yield ""
    yield "state"
    for item in view["state"]:
        yield f"  {'*' if item['changed'] else ' '} {item['place']} = {item['value']}"
    yield ""
    yield f"enabled actions: {len(view['enabled']) or 'none, this is a deadlock'}"
    for option in view["enabled"]:
        yield f"    {option['call']}"
        if verbose > 1:
            yield from _changes(option["changes"])
    for option in view["undefined"]:
        yield f"  ! {option['call']}: {option['why']}"
    if verbose:
        yield "disabled actions, with the first false conjunct"
        for group in view["disabled"]:
            others = len(group["others"]) + group["more"]
            more = f"  (and {others} more calls)" if others else ""
            yield f"    {group['call']}  line {group['line']}: {group['why']}{more}"
    yield from _properties(view)
    if refused := view.get("refused"):
        yield from _refused(refused)
    if compared := view.get("compare"):
        yield from _compared(view["variant"], compared)
    yield ""
    yield f"again  {view['command']}"


def _changes(found: Sequence[View] | None) -> Iterator[str]:
    for change in found or ():
        yield f"          {change['place']}  {', '.join(change['fields'])}"


def _properties(view: View) -> Iterator[str]:
    broken = [p for p in view["properties"] if p["broken_at"] is not None]
    since = f", since step {view['judged_from']}" if view["judged_from"] else ""
    yield f"properties violated on this path{since}: {len(broken) or 'none'}"
    for one in broken:
        yield f"  ✗ {one['name']}, after step {one['broken_at']}"
        for line in one["why"]:
            yield f"      {line}"


def _refused(line: View) -> Iterator[str]:
    yield f"no step of the spec explains {line['place']}"
    yield f"    {line['text']}"
    yield f"    {line['why']}"
    if needs := line["needs"]:
        where = f", line {needs['line']}" if needs["line"] else ""
        yield f"    it needs {needs['call']}: {needs['why']}{where}"


def _compared(variant: str, found: View) -> Iterator[str]:
    yield f"compared with {found['variant']} after step {found['step']}"
    if found["stopped"]:
        yield f"    {found['stopped']}"
    for place in found.get("differs", ()):
        yield f"    {place['place']}: here {place['here']}, there {place['there']}"
    for where, calls in (
        (variant, found.get("only_here", ())),
        (found["variant"], found.get("only_there", ())),
    ):
        for one in calls:
            yield f"    only in {where}: {one['call']}; elsewhere {one['why']}"
