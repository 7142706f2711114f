"""Compares TLC with Urteil's explorer on one variant of a spec: a version or a bug.

The comparison covers the verdicts, the numbers of states and transitions, the depth of the search,
and the lengths of counterexamples. TLC runs once for each violated property, because it stops at a
violation. It runs once more for all other safety properties, and once for all other liveness
properties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from checkers.explicit.exploration import Budget, Exploration
from checkers.explicit.liveness import with_liveness
from checkers.explicit.search import explore
from model.language.spec import Spec
from model.variants import Constants, Variant
from tools.tlc.running import Outcome, run

LARGEST = Budget(states=600_000, seconds=60.0)  # of the explorer, before TLC is asked


@dataclass(slots=True, kw_only=True)
class Row:
    """The results of TLC and Urteil for one variant of a spec: a version or a bug.

    `differences` is empty if both agree. `unfinished` names the comparisons that took too long.
    """

    spec: str
    variant: str
    constants: Constants
    distinct: int = 0
    generated: int = 0
    depth: int = 0
    holds: list[str] = field(default_factory=list[str])
    violated: dict[str, int] = field(default_factory=dict[str, int])  # property -> steps
    live: dict[str, str] = field(default_factory=dict[str, str])  # liveness property -> verdict
    limit_s: float = 60.0  # of one run of TLC
    seconds: float = 0.0  # of TLC, over all runs
    differences: list[str] = field(default_factory=list[str])
    unfinished: list[str] = field(default_factory=list[str])


def compared(variant: Variant, *, seconds: float, jar: Path) -> Row:
    """Compares TLC with the explorer on one variant of a spec: a version or a bug.

    Each run of TLC ends after `seconds`. The constants are those of the variant. If the explorer
    cannot visit every state with them, the spec's default constants are used.
    """
    constants, spec, found = _smallest(variant)
    row = Row(spec=variant.spec, variant=variant.name, constants=constants, limit_s=seconds)
    lively = {c.name for c in spec.liveness_properties}
    found = with_liveness(spec, found, sorted(lively), LARGEST) if lively else found
    row.distinct, row.generated, row.depth = found.distinct, found.generated, found.depth
    verdicts = {name: d.verdict for name, d in found.discoveries.items()}
    row.live = {name: verdicts[name] for name in verdicts if name in lively}
    row.holds = [n for n, v in verdicts.items() if v == "holds" and n not in lively]
    row.violated = {
        n: d.steps
        for n, d in found.discoveries.items()
        if d.verdict == "violated" and n not in lively
    }
    comparing = _Comparing(row=row, spec=spec, seconds=seconds, jar=jar)
    comparing.every_state(exhausted=found.exhausted)
    comparing.lengths()
    comparing.liveness()
    return row


def _smallest(variant: Variant) -> tuple[Constants, Spec, Exploration]:
    own = _explored(variant, dict(variant.at))
    return own if own[2].exhausted or not variant.at else _explored(variant, {})


def _explored(variant: Variant, constants: Constants) -> tuple[Constants, Spec, Exploration]:
    spec = variant.make(constants)
    names = [c.name for c in (*spec.claims, *spec.action_properties)]
    return constants, spec, explore(spec, properties=names, budget=LARGEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparing:
    row: Row
    spec: Spec
    seconds: float
    jar: Path

    def every_state(self, *, exhausted: bool) -> None:
        if not exhausted:
            self.row.unfinished.append("every state: the explorer's own budget is spent")
        elif outcome := self._asked("every state", self.row.holds):
            self._differ("violated", ours=False, theirs=outcome.violated)
            for name in ("distinct", "generated", "depth"):
                self._differ(name, ours=getattr(self.row, name), theirs=getattr(outcome, name))

    def lengths(self) -> None:
        for name, steps in self.row.violated.items():
            if outcome := self._asked(name, [name]):
                self._differ(name, ours=steps, theirs=outcome.steps)

    def liveness(self) -> None:
        held = [name for name, verdict in self.row.live.items() if verdict == "holds"]
        broken = [name for name, verdict in self.row.live.items() if verdict == "violated"]
        for names in ([held] if held else []) + [[name] for name in broken]:
            what = ", ".join(names)
            if outcome := self._asked(what, names):
                self._differ(what, ours=names != held, theirs=outcome.violated)

    def _asked(self, what: str, names: Sequence[str]) -> Outcome | None:
        outcome = run(self.spec, names, seconds=self.seconds, jar=self.jar)
        self.row.seconds = round(self.row.seconds + outcome.seconds, 1)
        if outcome.fault:
            self.row.differences.append(f"{what}: TLC cannot evaluate it: {outcome.fault}")
        elif not outcome.finished:
            self.row.unfinished.append(what)
        return outcome if outcome.finished and not outcome.fault else None

    def _differ(self, what: str, *, ours: object, theirs: object) -> None:
        if ours != theirs:
            self.row.differences.append(f"{what}: {ours} here, {theirs} in TLC")


def summary(rows: list[Row]) -> Mapping[str, int]:
    """Returns how many variants have each result: `agree`, `agree as far as TLC came`, `differ`.

    `agree as far as TLC came`: no difference was found, but some comparison took too long.
    """
    return {
        "agree": sum(not r.differences and not r.unfinished for r in rows),
        "agree as far as TLC came": sum(not r.differences and bool(r.unfinished) for r in rows),
        "differ": sum(bool(r.differences) for r in rows),
    }
