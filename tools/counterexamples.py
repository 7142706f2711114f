"""Writes the record of counterexamples: a shortest trace for each bug and old version of a spec.

`python -m tools.counterexamples [SPEC ...]` writes `checkers/counterexample_record.json`. Each
variant (a spec with a bug, or an old version of the spec) is explored once, with its recorded
constants, until its claim is violated. If the command line names specs, only the variants of these
specs are explored, and all other recorded traces stay.

`python -m tools.counterexamples --replay [SPEC ...]` explores nothing. It replays the recorded
traces, and exits with 1 if a trace does not end in a violation of its claim.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from checkers.counterexample_record import Counterexample, keep, kept
from checkers.explicit.exploration import Discovery
from checkers.explicit.instance import Instance
from checkers.explicit.liveness import decide
from checkers.explicit.replay import Replayed, replay
from checkers.explicit.search import explore
from model.language.actions import Action
from model.language.interpreter import Interpreter, State
from model.language.spec import Spec
from model.language.values import Writer
from model.specs import all_variants, find
from model.variants import Variant
from tools.named_specs import add_specs


def main(arguments: list[str]) -> int:
    """Writes the record of counterexamples, or replays the recorded traces, and returns the exit
    code.
    """
    parser = ArgumentParser(prog="python -m tools.counterexamples", description=__doc__)
    add_specs(parser)
    parser.add_argument("--replay", action="store_true", help="replay the recorded traces")
    options = parser.parse_args(arguments)
    if options.replay:
        return replay_all(
            found for found in kept().values() if not options.specs or found.spec in options.specs
        )
    write(options.specs)
    return 0


def replay_all(record: Iterable[Counterexample]) -> int:
    """Replays the recorded traces. Returns 1 if a trace does not end in a violation, and 0
    otherwise.
    """
    failed = 0
    for found in record:
        if not ends_in_a_violation(found):
            failed = 1
            sys.stdout.write(f"{found.spec} {found.variant}: the trace violates nothing\n")
    return failed


def ends_in_a_violation(found: Counterexample) -> bool:
    """Returns True if every recorded step can be taken, and the last step violates the claim."""
    ended = repeated(found)
    return not ended.stopped and ended.broken == len(found.steps)


def write(specs: Sequence[str]) -> None:
    """Explores the variants of the named specs, and writes the record of counterexamples. If
    `specs` is empty, the variants of all specs are explored. The recorded traces of all other
    variants stay.
    """
    known = kept()
    record: list[Counterexample] = []
    for variant in all_variants():
        row = variant.spec, variant.name
        if variant.breaks is None:
            continue
        if specs and variant.spec not in specs and row in known:
            record.append(known[row])
            continue
        record.append(found := searched(variant))
        sys.stdout.write(f"{variant.spec} {variant.name}: {len(found.steps)} steps\n")
        sys.stdout.flush()
    keep(record)


def searched(variant: Variant) -> Counterexample:
    """Returns the trace of a variant to a violation of its claim.

    Raises AssertionError if the claim is not violated.
    """
    assert variant.breaks is not None
    spec, claim = variant.make(variant.at), variant.breaks
    found = _decided(spec, claim)
    assert found.verdict == "violated", f"{variant.spec} {variant.name}: {claim} {found.verdict}"
    writer, actions = Writer(spec, Instance.of(spec).ranges), {a.name: a for a in spec.actions}
    steps = [writer.call(actions[step.action], step.values) for step in found.trace[1:]]
    return Counterexample(
        spec=variant.spec,
        variant=variant.name,
        breaks=claim,
        steps=tuple(steps),
        loop=found.loop,
    )


def _decided(spec: Spec, claim: str) -> Discovery:
    if claim in {c.name for c in spec.liveness_properties}:
        return decide(spec, [claim])[claim]
    return explore(spec, properties=[claim]).discoveries[claim]


Call = tuple[Action, tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    action: str
    values: tuple[int, ...]
    state: State


def repeated(found: Counterexample) -> Replayed:
    """Replays a counterexample in the reference interpreter, from every initial state of the spec.

    Returns a replay with a violation. If no replay has a violation, returns the longest replay.
    Raises KeyError for an action or a claim that the spec no longer has.
    """
    variant = find(found.spec, found.variant)
    spec = variant.make(variant.at)
    interpreter = Interpreter(Instance.of(spec).ranges)
    claim = {c.name: c for c in spec.properties}[found.breaks]
    calls = [_call(spec, interpreter, text) for text in found.steps]
    replays = [
        replay(spec, interpreter, _taken(interpreter, first, calls), claim, found.loop)
        for first in interpreter.initial(spec)
    ]
    return max(replays, key=lambda ended: (ended.broken is not None, len(ended.taken)))


def _call(spec: Spec, interpreter: Interpreter, text: str) -> Call:
    # The text is, for example, `leader_write(b0)`.
    action = {a.name: a for a in spec.actions}[text.partition("(")[0]]
    writer = Writer(spec, interpreter.ranges)
    values = {writer.call(action, values): values for values in interpreter.calls(action)}
    return action, values[text]


def _taken(interpreter: Interpreter, first: State, calls: Sequence[Call]) -> list[_Step]:
    steps = [_Step(action="init", values=(), state=first)]
    for action, values in calls:
        state = steps[-1].state
        after = interpreter.step(action, state, values)
        steps.append(_Step(action=action.name, values=values, state=after or state))
        if after is None:
            break
    return steps


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
