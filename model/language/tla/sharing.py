"""Finds the terms that a definition uses several times, so that a LET can define a name for each of
these terms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from model.language import terms as t
from model.language.show import open_locals, size


def repeated(roots: Iterable[t.Node]) -> list[t.Node]:
    """Returns the terms that have subterms and occur more than once in `roots`, from small to
    large.
    """
    uses: Counter[t.Node] = Counter(roots)
    todo, seen = list(uses), set[t.Node]()
    while todo:
        top = todo.pop()
        if top not in seen:
            seen.add(top)
            below = t.children(top)
            uses.update(below)
            todo.extend(below)
    several = (n for n, count in uses.items() if count > 1 and t.children(n))
    return sorted(several, key=size)


def open_in(n: t.Node, params: Sequence[t.Local]) -> tuple[t.Local, ...]:
    """Returns the variables that are free in the term and not in `params`, sorted by name."""
    return tuple(sorted(open_locals(n) - set(params), key=lambda x: (x.name, x.level)))
