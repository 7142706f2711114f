"""Breadth-first exploration at a finite scope: the first violation found is a shortest one.

A violated property does not stop the others: the search ends when every property is violated, when
every reachable state was seen, or when its budget is spent. What was found by then is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from checkers.explicit import engines
from checkers.explicit.exploration import Budget, Exploration, Progress, Task
from model.faults import UnknownName
from model.language.expressions import SpecError
from model.language.scope import Scope
from model.language.spec import Claim, Spec, title_of


def explore(
    spec: Spec,
    *,
    properties: Sequence[str] = (),
    scope: Scope | None = None,
    budget: Budget = Budget(),  # noqa: B008 - frozen
    progress: Callable[[Progress], None] | None = None,
    engine: str | None = None,
    fingerprints: bool = False,
    memory: int | None = None,
    threads: int = 1,
    coverage: bool = False,
    symmetry: bool = False,
) -> Exploration:
    """Every reachable state of the spec, and what is true there of its properties.

    Without `properties` all invariants are decided, without `scope` the spec's own is explored. The
    table of engines says what `engine` may be, and which runs without it; with `fingerprints` one
    that can keeps 64 bits in place of a state, with `memory`, in bytes, it spills what is more, and
    with `coverage` it counts which conjuncts disable actions. With `symmetry` states that differ
    only in which element is which are one, in NumPy.
    Raises UnknownName for a property that the spec has not, SpecError for a meaningless spec.
    """
    task = Task(
        spec=spec,
        claims=chosen(spec, properties),
        scope=scope,
        budget=budget,
        progress=progress,
        fingerprints=fingerprints,
        memory=memory,
        threads=threads,
        coverage=coverage,
        symmetry=symmetry,
    )
    if symmetry and engine not in (None, "numpy"):
        raise SpecError(f"the engine {engine} knows no symmetry: leave it out, or write numpy")
    return engines.run(task, "numpy" if symmetry else engine)


def chosen(spec: Spec, names: Sequence[str]) -> tuple[Claim, ...]:
    """The claims of these names; without names every invariant and action property."""
    known = {claim.name: claim for claim in (*spec.claims, *spec.action_properties)}
    for name in names:
        if name not in known:
            raise UnknownName(f"property of {title_of(spec)}", name, known)
    return tuple(c for c in known.values() if (c.name in names if names else not c.lemma))
