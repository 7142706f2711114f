"""Breadth-first exploration of a spec: each violation has a shortest trace.

The search ends when every property is violated, when every reachable state was explored, or when
its budget is spent.
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
    """Explores every reachable state of the spec, and decides its properties.

    By default it decides all invariants and action properties, at the spec's own scope, with the
    fastest engine.

    - `liveness` names liveness properties that the compiled engine may decide in the same search.
      `checkers.explicit.liveness.with_liveness` decides the others.
    - `fingerprints` stores a hash of 64 bits for each state, instead of the state.
    - `memory` is a limit in bytes, above which states move to disk.
    - `coverage` counts how often each conjunct disables an action.
    - `symmetry` explores one state of each symmetry class, with the NumPy engine.
    - `checkpoints` writes checkpoints of the compiled search, or resumes an earlier one.

    Raises UnknownName for an unknown property, SpecError for an unreadable spec.
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
    """Returns the claims with these names, by default every invariant and action property."""
    known = {claim.name: claim for claim in (*spec.claims, *spec.action_properties)}
    for name in names:
        if name not in known:
            raise UnknownName("property", name, known, of=title_of(spec))
    return tuple(c for c in known.values() if (c.name in names if names else not c.lemma))
