"""Writes terms in the notation of the specs.

If a term is used several times in a text, a `Script` gives it a name and prints the term once, on a
line that begins with `where`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import assert_never

from model.language import terms as t

Names = Mapping[t.Node, str]

LARGE = 6  # nodes: a smaller term is repeated instead of named
NAMED = 4  # nodes: a term of this size or more is printed by its name in the spec
LOOSE = (
    t.And,
    t.Or,
    t.Implies,
    t.Eq,
    t.Le,
    t.Lt,
    t.Succ,
    t.Plus,
)  # in parentheses inside another term


def place(name: str, keys: tuple[str, ...]) -> str:
    return name + "".join(f"[{k}]" for k in keys)


def show(n: t.Node, names: Names | None = None) -> str:
    """Returns the term as text. If `names` has a name for the term, returns only this name, unless
    the term is very small.
    """
    if names and n in names and size(n) >= NAMED:
        return names[n]
    return expanded(n, names)


def expanded(n: t.Node, names: Names | None = None) -> str:  # noqa: C901 - one case for each word
    """Returns the term as text, even if `names` has a name for it. The terms inside it are printed
    by their names.
    """

    def text(x: t.Node) -> str:
        return show(x, names)

    def tight(x: t.Node) -> str:
        loose = isinstance(x, LOOSE) or (isinstance(x, t.Not) and isinstance(x.of, t.Eq))
        return f"({text(x)})" if loose and not (names and x in names) else text(x)

    match n:
        case t.Const():
            return str(bool(n.value)).lower() if n.sort.flavour == "bool" else str(n.value)
        case t.Least():
            return "nothing" if n.sort.optional else f"least {n.sort.name}"
        case t.Local():
            return (names or {}).get(n, n.name)
        case t.Get():
            return place(n.variable.name, tuple(map(text, n.keys)))
        case t.Some():
            return text(n.of)
        case t.Plus():
            return f"{text(n.of)} {'+' if n.delta >= 0 else '-'} {abs(n.delta)}"
        case t.Ite():
            return f"({text(n.then)} if {text(n.test)} else {text(n.other)})"
        case t.Not(of=t.Eq() as e) if not (names and e in names):
            return f"{text(e.left)} != {text(e.right)}"
        case t.Not():
            return f"~{tight(n.of)}"
        case t.And():
            return " & ".join(map(tight, n.of)) or "true"
        case t.Or():
            return " | ".join(map(tight, n.of)) or "false"
        case t.Implies():
            return f"{tight(n.left)} => {tight(n.right)}"
        case t.Eq():
            return f"{text(n.left)} == {text(n.right)}"
        case t.Le():
            return f"{text(n.left)} <= {text(n.right)}"
        case t.Lt():
            return f"{text(n.left)} < {text(n.right)}"
        case t.Succ():
            return f"{text(n.right)} comes next after {text(n.left)}"
        case t.Forall() | t.Exists() | t.Count():
            bound = ", ".join(f"{b.name} in {b.sort.name}" for b in n.binders)
            return f"{type(n).__name__.lower()}({text(n.body)} for {bound})"
        case t.Extreme():
            word = "last" if n.last else "first"
            return f"{word}({n.binder.name} with {text(n.body)}, else {text(n.default)})"
        case _:
            assert_never(n)


def show_write(w: t.Write, names: Names | None = None) -> str:
    """Returns an assignment as text. The text includes the loop around the assignment and the
    loop's condition.
    """
    loops = "".join(f"for {b.name} in {b.sort.name}: " for b in w.binders)
    when = "" if isinstance(w.condition, t.Const) else f"  where {show(w.condition, names)}"
    keys = tuple(show(k, names) for k in w.keys)
    return f"{loops}{place(w.variable.name, keys)} = {show(w.value, names)}{when}"


def size(n: t.Node) -> int:
    return sum(1 for _ in t.walk(n))


@dataclass(frozen=True, slots=True)
class Script:
    """Names for the terms that occur more than once in a text. The text has a `where` line for each
    such term.
    """

    names: Names

    @classmethod
    def of(cls, roots: Iterable[t.Node], in_spec: Names, params: Iterable[t.Local] = ()) -> Script:
        """Returns a script with a name for each large term that occurs more than once in `roots`.

        If `in_spec` (the names that the spec gives to terms) has a name for a term, the script uses
        this name, even if the term is somewhat smaller. A term with a free variable that is not in
        `params` gets no name.
        """
        parameters = frozenset(params)
        uses: Counter[t.Node] = Counter()
        seen: set[t.Node] = set()
        todo = list(roots)
        uses.update(todo)
        while todo:
            top = todo.pop()
            if top not in seen:
                seen.add(top)
                below = t.children(top)
                uses.update(below)
                todo.extend(below)
        names: dict[t.Node, str] = {}
        taken = {p.name for p in parameters}
        for n in sorted((n for n in seen if uses[n] > 1), key=size):
            if size(n) >= (NAMED if n in in_spec else LARGE) and open_locals(n) <= parameters:
                name = in_spec.get(n, "it")
                names[n] = next(x for x in _variations(name) if x not in taken)
                taken.add(names[n])
        return cls(names)

    def write(self, w: t.Write) -> str:
        return show_write(w, self.names)

    def where(self) -> list[str]:
        """Returns one line for each named term, such as `end = log[p].end_offset`. If a named term
        contains other named terms, its line comes after their lines.
        """
        return [f"{name} = {expanded(n, self.names)}" for n, name in self.names.items()]


def _variations(name: str) -> Iterable[str]:
    yield name
    k = 2
    while True:
        yield f"{name}_{k}"
        k += 1


def open_locals(n: t.Node) -> frozenset[t.Local]:
    """Returns the parameters and variables that are free in the term: no quantifier in the term
    binds them.
    """
    found = {x for x in t.walk(n) if isinstance(x, t.Local)}
    for x in t.walk(n):
        if isinstance(x, t.Forall | t.Exists | t.Count):
            found -= set(x.binders)
        elif isinstance(x, t.Extreme):
            found.discard(x.binder)
    return frozenset(found)
