"""Renders a violation as text for one screen: the claim, the steps that violate it, the reason, and
the replay command.

Two formulas are printed with the values of their variables: the false conjunct of the claim, and
the guard (enabling condition) that allowed the last step.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import pairwise

from checkers.explicit.exploration import Discovery, Exploration, Step
from checkers.report.sentences import Sentences
from model.language import terms as t
from model.language.explain import conjuncts, why_false
from model.language.interpreter import Interpreter, joined
from model.language.show import show
from model.language.spec import Action, Claim, Liveness, Spec
from model.language.values import Writer

WIDTH = 110  # characters
SHORTEST = "yes (breadth-first)"
STEM = "the path to the last state is (breadth-first)"
LASSO = "the path to the loop is (breadth-first); the loop may not be"
LUCKY = "no: found by a random walk, from which loops were removed"
LABEL = 19  # characters of the margin of labels such as `false because`
LONGEST_CALL = 44  # characters of an action in the table


def counterexample(
    spec: Spec,
    found: Exploration,
    name: str,
    *,
    spec_name: str = "",
    replay: Sequence[str] = (),
    verbose: int = 0,
) -> str:
    """Returns the violation of the property `name` as text. The lines of `replay` are the replay
    command.

    If `verbose` is 1, the text also has the full states. If `verbose` is 2, it also has the
    disabled actions.
    """
    discovery = found.discoveries[name]
    writer = Writer(spec, found.ranges)
    title = spec_name or type(spec).__name__
    lines = [
        *_headline(discovery, found, title),
        "",
        *_table(writer, spec, discovery),
        "",
        *_reasons(writer, spec, discovery, found.engine),
        *noted("also", _others(found, name)),
        *noted("scope", [_scope(spec)]),
        *noted("replay", replay),
    ]
    if verbose:
        lines += ["", *_states(writer, spec, discovery.trace, disabled=verbose > 1)]
    return "\n".join(line.rstrip() for line in lines)


def _headline(discovery: Discovery, found: Exploration, title: str) -> Iterator[str]:
    steps = f"{discovery.steps} step{'s' if discovery.steps != 1 else ''}"
    when = f"violated after {steps}" if discovery.loop is None else "violated for ever"
    left = f"✗ {discovery.claim.name}  {when}"
    engine = "random walks" if found.engine == "simulate" else "explicit"
    right = f"{title} · {engine} · {found.distinct:,} states, {found.seconds:.2f} s"
    if len(left) + 3 + len(right) <= WIDTH:
        yield left + right.rjust(WIDTH - len(left))
    else:
        yield from (left, f"  {right}")
    if discovery.claim.summary:
        yield from _wrapped(discovery.claim.summary, "  ")


# ---- the steps


def _table(writer: Writer, spec: Spec, discovery: Discovery) -> Iterator[str]:
    trace = discovery.trace
    calls = [_call(writer, spec, step) for step in trace]
    wide = min(max(map(len, calls)), LONGEST_CALL)
    changes = [[], *(writer.changes(a.state, b.state) for a, b in pairwise(trace))]
    places = max((len(place) for change in changes for place, _ in change), default=0)
    yield f"  step  {'action'.ljust(wide)}  what changed"
    yield f"  ────  {'─' * wide}  {'─' * (WIDTH - wide - 10)}"
    for k, (call, change) in enumerate(zip(calls, changes, strict=True)):
        here = f"   ← {_end(discovery)}" if k == len(trace) - 1 else ""
        room = WIDTH - wide - 10 - places - 2 - len(here)
        rows = [row for place, fields in change for row in _rows(place, fields, places, room)]
        head = f"  {k:4}  {call.ljust(wide)}"
        if len(call) > wide:
            yield head
            head = " " * (8 + wide)
        for j, row in enumerate(rows or [""]):
            yield f"{head if j == 0 else ' ' * (8 + wide)}  {row}{here if j == 0 else ''}"


def _end(discovery: Discovery) -> str:
    if discovery.loop is None:
        return "here"
    still = discovery.loop == discovery.steps
    return "for ever" if still else f"as after step {discovery.loop}, and so on"


def _call(writer: Writer, spec: Spec, step: Step) -> str:
    action = _action(spec, step.action)
    return writer.call(action, step.values) if action is not None else step.action


def _action(spec: Spec, name: str) -> Action | None:
    return next((a for a in spec.actions if a.name == name), None)


def _rows(place: str, fields: Sequence[str], places: int, room: int) -> Iterator[str]:
    row = ""
    for field in fields:
        if row and len(row) + 2 + len(field) > room:
            yield f"{place.ljust(places)}  {row},"
            place, row = "", ""
        row = f"{row}, {field}" if row else field
    yield f"{place.ljust(places)}  {row}"


# ---- why


def _reasons(writer: Writer, spec: Spec, discovery: Discovery, engine: str) -> Iterator[str]:
    claim = discovery.claim
    if isinstance(claim, Liveness):
        yield from noted("false because", _never(writer, claim, discovery))
        yield from noted("fair because", [_why_fair(spec, discovery)])
        yield from noted("shortest", [STEM if discovery.loop == discovery.steps else LASSO])
    else:
        yield from noted("false because", why_claim_false(writer, claim, discovery.trace))
        yield from noted("allowed because", _why_allowed(writer, spec, discovery.trace))
        yield from noted("shortest", [SHORTEST if engine != "simulate" else LUCKY])


def _never(writer: Writer, claim: Liveness, discovery: Discovery) -> list[str]:
    assert discovery.loop is not None
    interpreter, bindings = (
        Interpreter(writer.ranges),
        dict(zip(claim.params, discovery.values, strict=True)),
    )
    env = {p.uid: v for p, v in bindings.items()}
    states = [step.state for step in discovery.trace]
    reached = [interpreter.holds(claim.goal, state, env) for state in states]
    chosen = ", ".join(writer.arguments(claim.params, discovery.values))
    elements: dict[t.Node, str] = {p: writer.value(v, p.sort) for p, v in bindings.items()}
    goal = show(claim.goal, elements)
    lines = [f"for {chosen}"] if chosen else []
    if claim.kind == "eventually always":
        k = next(k for k in range(discovery.loop, len(states)) if not reached[k])
        return [*lines, f"again and again, as after step {k}, this is false: {goal}"]
    since = 0
    if claim.kind == "leads to":
        missed = (k for k, r in enumerate(reached) if not any(reached[k:]) and not r)
        since = next(k for k in missed if interpreter.holds(claim.premise, states[k], env))
        sentence = Sentences(writer, states[since], bindings, {}).sentence
        if not isinstance(claim.premise, t.Const):
            lines.append(f"after step {since}: {sentence(claim.premise)}")
    return [*lines, f"from step {since} on this is never true: {goal}"]


def _why_fair(spec: Spec, discovery: Discovery) -> str:
    assert discovery.loop is not None
    if not any(action.fair for action in spec.actions):
        return "no action of the spec is fair: write @action(fair=...) for one that must be taken"
    if discovery.loop == discovery.steps:
        return "no fair action would change the last state"
    return "the loop takes every fair action or disables it again and again"


def why_claim_false(writer: Writer, claim: Claim, trace: Sequence[Step]) -> list[str]:
    state = trace[-1].state
    if claim.about == "steps":
        state = joined(trace[-2].state, state)
    reason = why_false(Interpreter(writer.ranges), claim.formula, state)
    sentence = Sentences(writer, state, reason.chosen, {}).sentence
    chosen = ", ".join(f"{b.name} {writer.value(v, b.sort)}" for b, v in reason.chosen.items())
    premises = [sentence(p) for p in reason.premises if not isinstance(p, t.Const)]
    lines = _joined([*([f"for {chosen}"] if chosen else []), *premises])
    return [*lines, f"{'but  ' if lines else ''}{sentence(reason.conjunct)}  is false"]


def _why_allowed(writer: Writer, spec: Spec, trace: Sequence[Step]) -> list[str]:
    action = _action(spec, trace[-1].action)
    if action is None or len(trace) == 1:
        return ["it is an initial state"]
    bindings = dict(zip(action.params, trace[-1].values, strict=True))
    sentence = Sentences(writer, trace[-2].state, bindings, action.names).sentence
    return _joined([sentence(c) for g in action.guards for c in conjuncts(g.formula)])


def _joined(sentences: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for sentence in sentences:
        if lines and len(lines[-1]) + len(sentence) + 2 <= WIDTH - LABEL:
            lines[-1] += f"; {sentence}"
        else:
            lines.append(sentence)
    return lines


def _others(found: Exploration, name: str) -> list[str]:
    others = [d for d in found.discoveries.values() if d.claim.name != name]
    violated = [f"{d.claim.name} ({d.steps} steps)" for d in others if d.verdict == "violated"]
    hold = sum(d.verdict == "holds" for d in others)
    undecided = sum(d.verdict == "undecided" for d in others)
    parts = [f"violated: {', '.join(violated) or 'nothing else'}"]
    parts += [f"still hold: {hold} of {len(found.discoveries)}"] if hold else []
    parts += [f"undecided: {undecided}"] if undecided else []
    return ["     ".join(parts)]


def _scope(spec: Spec) -> str:
    constants = (f"{name} {str(getattr(spec, name)).lower()}" for name in spec.constants)
    return ", ".join(constants) or "no constants"


# ---- layout


def noted(label: str, lines: Sequence[str]) -> Iterator[str]:
    """Yields the lines, wrapped, with a margin on the left. The margin of the first line
    contains the label.
    """
    margin = f"  {label}".ljust(LABEL)
    for line in lines:
        if label == "replay":  # never wrapped: a user pastes it
            yield margin + line
        else:
            yield from _wrapped(line, margin)
        margin = " " * LABEL


def _wrapped(text: str, margin: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=margin,
        subsequent_indent=" " * len(margin),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _states(writer: Writer, spec: Spec, trace: Sequence[Step], *, disabled: bool) -> Iterator[str]:
    for k, step in enumerate(trace):
        yield f"  state {k}"
        for item in writer.items(step.state):
            yield f"    {item.place} = {item.value}"
        if disabled:
            yield from _disabled(writer, spec, step)


def _disabled(writer: Writer, spec: Spec, step: Step) -> Iterator[str]:
    interpreter = Interpreter(writer.ranges)
    for action in spec.actions:
        refused = [
            (v, interpreter.why_disabled(action, step.state, v)) for v in interpreter.calls(action)
        ]
        reasons = [(values, guard) for values, guard in refused if guard is not None]
        if refused and len(reasons) == len(refused):
            values, guard = max(reasons, key=lambda found: action.guards.index(found[1]))
            bindings = dict(zip(action.params, values, strict=True))
            sentence = Sentences(writer, step.state, bindings, action.names).sentence
            call = writer.call(action, values)
            yield f"    disabled: {call}, as this is false: {sentence(guard.formula)}"
