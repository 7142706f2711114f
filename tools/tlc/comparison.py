"""Compares TLC with Urteil's explorer on one variant of a spec: a version or a bug.

The comparison covers verdicts, numbers of states and transitions, the depth, and the lengths of
counterexamples. TLC stops at a violation. So it runs once for each violated property, once for all
other safety properties, and once for all other liveness properties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from checkers.explicit.exploration import STOPPED, Budget, Exploration, WhyStopped
from checkers.explicit.liveness import with_liveness
from checkers.explicit.search import explore
from model.language.spec import Spec
from model.variants import Constants, Variant
from tools.tlc.running import Outcome, run

LARGEST = Budget(states=600_000, seconds=60.0)  # of the explorer, which runs before TLC

# Smaller constants of a spec or of a variant. They are used if the graph has more than SOON states,
# because TLC would take too long on a busy core.
SOON = 25_000
FEW_EPOCHS: Sequence[Constants] = [{"epochs": 3}, {"epochs": 2}]
SMALLER: Mapping[str, Sequence[Constants]] = {
    "election/controller-failover": [{"max_disruptions": 0}],
    "election/starts-uncommitted": [{"max_disruptions": 0}],
    "election/log-directories": [{"max_disruptions": 0}],
    "election/keeps-lost-replica": [{"max_disruptions": 0}],
    "election/accepts-failed-replica": [{"max_disruptions": 0}],
    "election/reports-too-late": [{"max_disruptions": 0}],
    "election/elects-failed-replica": [{"max_disruptions": 0}],
    "election/ignores-failed-directory": [{"max_disruptions": 0}],
    "election/changed-min-isr": [{"max_disruptions": 1}],
    "election/answers-without-min-isr": [{"max_disruptions": 1}],
    "election/never-clears-elr": [{"max_disruptions": 1}],
    "reassignment": [{"max_reassignments": 1}, {"max_disruptions": 0}],
    "group-offsets": [{"generations": 1, "log_size": 3}],
    "classic-group": [{"generations": 2}, {"members": 1}],
    "consumer-group/static-members": FEW_EPOCHS,
    "consumer-group/refuses-own-instance": FEW_EPOCHS,
    "consumer-group/replaces-instance-in-use": FEW_EPOCHS,
    "consumer-group/adds-instances": FEW_EPOCHS,
    "consumer-group/frees-while-away": FEW_EPOCHS,
    "consumer-group/fences-no-instance": FEW_EPOCHS,
    "retention": [{"keys": 1}],
    "quorum": [{"log_size": 1}, {"replicas": 2}],
    "transactions": [{"transactions": 1}],
    "idempotence-abstract": [{"producers": 1}, {"offsets": 2}],
    "quorum-abstract": [{"replicas": 2}, {"epochs": 2}, {"replicas": 2, "epochs": 2}],
    "read-committed-abstract": [{"transactions": 1}, {"offsets": 2}],
    "coordinator-abstract": [{"transactions": 1}, {"transactions": 1, "producer_epochs": 2}],
    "reassignment-abstract": [{"brokers": 2, "min_isr": 1}, {"leader_epochs": 1}],
    "pipeline-abstract": [{"instances": 1}, {"instances": 1, "transactional_ids": 1}],
    "share-group-abstract": [{"offsets": 1}, {"counts": 2}],
}


@dataclass(slots=True, kw_only=True)
class Row:
    """The result of a comparison.

    `differences` is empty if TLC and the explorer agree. `unfinished` names the runs that took too
    long.
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
    """Compares TLC with the explorer on one variant. Each run of TLC ends after `seconds`.

    A variant with a large state graph gets smaller constants.
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
    comparing.every_state(found.why_stopped)
    comparing.lengths()
    comparing.liveness()
    return row


Explored = tuple[Constants, Spec, Exploration]


def _smallest(variant: Variant) -> Explored:
    """Returns the constants for the comparison, the spec with these constants, and its exploration.

    First, the variant's own constants are tried. If the explorer does not finish with them, the
    spec's default constants are tried. If the explorer still does not finish, or visits more than
    `SOON` states, the constants in `SMALLER` are tried. `SMALLER` has several sets of constants for
    a spec. The result has the first set with which the variant violates its property. If there is
    no such set, it has the first set that is small enough.
    """
    own = _explored(variant, dict(variant.at))
    if variant.at and own[2].why_stopped not in ("exhausted", "all decided"):
        own = _explored(variant, {})
    if _is_small(own):
        return own
    of_spec = SMALLER.get(variant.spec, [])
    smaller = SMALLER.get(f"{variant.spec}/{variant.name}", of_spec)
    tried = [_explored(variant, {**some, **variant.at}) for some in smaller]
    tried += [_explored(variant, some) for some in smaller if variant.at]
    few = [one for one in tried if _is_small(one)]
    shows = [one for one in few if variant.breaks in one[2].violated]
    return (shows or few or [own])[0]


def _is_small(explored: Explored) -> bool:
    _, _, found = explored
    return found.exhausted and 0 < found.distinct <= SOON


def _explored(variant: Variant, constants: Constants) -> Explored:
    spec = variant.make(constants)
    names = [c.name for c in (*spec.claims, *spec.action_properties)]
    return constants, spec, explore(spec, properties=names, budget=LARGEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparing:
    row: Row
    spec: Spec
    seconds: float
    jar: Path

    def every_state(self, why_stopped: WhyStopped) -> None:
        if why_stopped != "exhausted":
            self.row.unfinished.append(f"every state: {STOPPED[why_stopped]}")
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
    """Returns the number of variants with each result: `agree`, `agree as far as TLC came` (a run
    took too long), and `differ`.
    """
    return {
        "agree": sum(not r.differences and not r.unfinished for r in rows),
        "agree as far as TLC came": sum(not r.differences and bool(r.unfinished) for r in rows),
        "differ": sum(bool(r.differences) for r in rows),
    }
