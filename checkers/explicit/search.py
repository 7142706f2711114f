"""Breadth-first exploration of a spec, in which each violation has a shortest trace.

The search ends when every property is violated, when every reachable state is explored, or when the
budget is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from checkers.explicit import engines
from checkers.explicit.exploration import Budget, EngineName, Exploration, Progress, Task
from model.faults import UnknownName
from model.language.expressions import SpecError
from model.language.scope import Scope
from model.language.spec import Claim, Spec, title_of

if TYPE_CHECKING:
    from checkers.explicit.checkpoints import Checkpoints


def explore(
    spec: Spec,
    *,
    properties: Sequence[str] = (),
    liveness: Sequence[str] = (),
    scope: Scope | None = None,
    budget: Budget = Budget(),  # noqa: B008 - frozen
    progress: Callable[[Progress], None] | None = None,
    engine: EngineName | None = None,
    fingerprints: bool = False,
    memory: int | None = None,
    threads: int = 1,
    coverage: bool = False,
    symmetry: bool = False,
    checkpoints: Checkpoints | None = None,
) -> Exploration:
    """Explores the reachable states of the spec, and returns the verdicts on its properties.

    If `properties` is empty, all invariants and action properties except lemmas are decided. The
    default scope is the scope of the spec. If `engine` is None, a small spec is explored in plain
    Python, and every other spec by the fastest engine.

    - `liveness` names liveness properties that the compiled engine may decide in the same search.
      `checkers.explicit.liveness.with_liveness` decides the properties that are still undecided.
    - `fingerprints` stores a hash of 64 bits for each state, instead of the state.
    - `memory` is a limit in bytes. States that exceed it move to disk.
    - `threads` is the number of threads, if the engine has threads.
    - `coverage` counts how often each conjunct disables an action.
    - `symmetry` explores one state of each symmetry class, with the NumPy engine.
    - `checkpoints` writes checkpoints of the compiled search, or resumes an earlier search.

    Raises UnknownName for an unknown property, and SpecError for a spec that cannot be explored.
    """
    task = Task(
        spec=spec,
        claims=chosen(spec, properties),
        lively=[claim for claim in spec.liveness_properties if claim.name in liveness],
        scope=scope,
        budget=budget,
        progress=progress,
        fingerprints=fingerprints,
        memory=memory,
        threads=threads,
        coverage=coverage,
        symmetry=symmetry,
        checkpoints=checkpoints,
    )
    if symmetry and engine not in (None, "numpy"):
        raise SpecError(
            f"the engine {engine} has no symmetry reduction\n  leave out --engine, or use numpy"
        )
    return engines.run(task, "numpy" if symmetry else engine)


def chosen(spec: Spec, names: Sequence[str]) -> tuple[Claim, ...]:
    """Returns the claims with these names. If `names` is empty, returns every invariant and
    action property that is not a lemma.
    """
    known = {claim.name: claim for claim in (*spec.claims, *spec.action_properties)}
    for name in names:
        if name not in known:
            raise UnknownName("property", name, known, of=title_of(spec))
    return tuple(c for c in known.values() if (c.name in names if names else not c.lemma))
