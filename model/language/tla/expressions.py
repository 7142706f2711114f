"""Writes terms as TLA+ expressions. They use records and sets, and contain no more parentheses than
needed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from model.language import terms as t
from model.language.state_variables import LeafShape, Record
from model.language.tla.layout import Align, Doc, End, Nest, bullets, flat, group, listed, row
from model.language.tla.layout import Choice as Either
from model.language.tla.naming import Names, Naming
from model.language.tla.operators import CALL
from model.language.tla.places import record_of

Shared = tuple[str, tuple[t.Local, ...]]  # the name of a definition, and its parameters

# How tightly a form binds, from TLA+'s table of operators.
OPEN, IMPLIES, JUNCTION, NOT, COMPARED, SET, SUM, APPLIED = range(8)


@dataclass(frozen=True)
class Part:
    """A TLA+ expression. `level` is the precedence of its outermost operator."""

    doc: Doc
    level: int = APPLIED

    def at(self, level: int) -> Doc:
        if self.level < level:
            return row("(", Align(self.doc), ")")
        if self.level == JUNCTION and level > OPEN and isinstance(self.doc, Either):
            # What follows a broken list would be read as a part of its last item.
            return Either(self.doc.flat, row("(", Align(self.doc.broken), ")"))
        return self.doc


@dataclass
class Writer(Naming):
    local: dict[t.Node, Shared] = field(default_factory=dict[t.Node, Shared])  # by LET
    initially: bool = False  # then variables read the blank state
    words: set[str] = field(default_factory=set[str])  # of the prelude, that the module uses

    def doc(self, n: t.Node, names: Names, level: int = OPEN) -> Doc:
        return self.part(n, names).at(level)

    def one_line(self, n: t.Node, names: Names, level: int = OPEN) -> str:
        return flat(self.doc(n, names, level))

    def part(self, n: t.Node, names: Names) -> Part:  # noqa: C901 - one case for each word
        if n in self.local:
            name, free = self.local[n]
            arguments = ", ".join(names[x.uid] for x in free)
            return Part(f"{name}({arguments})" if free else name)
        match n:
            case t.Const():
                return Part(self.literal(n))
            case t.Least():
                shown = self.least(n.sort)
                return Part(shown, OPEN if shown.startswith("CHOOSE") else APPLIED)
            case t.Local():
                shown = names.get(n.uid) or n.name  # a constant has the name itself
                return Part(shown, SUM if " " in shown else APPLIED)
            case t.Get():
                return self._read(n, names)
            case t.Some():
                return self.part(n.of, names)
            case t.Plus():
                sign = "+" if n.delta >= 0 else "-"
                return Part(row(self.doc(n.of, names, SUM), f" {sign} {abs(n.delta)}"), SUM)
            case t.Ite():
                return self._conditional(n, names)
            case t.Not(of=t.Eq() as e):
                return self._infix("#", e.left, e.right, names, COMPARED)
            case t.Not(of=t.Get() as e) if self._is_element(e):
                return self._read(e, names, "\\notin")
            case t.Not():
                return Part(row("~", self.doc(n.of, names, NOT)), NOT)
            case t.And() | t.Or():
                return self._junction(n, names)
            case t.Implies():
                return self._infix("=>", n.left, n.right, names, IMPLIES)
            case t.Eq():
                return self._infix("=", n.left, n.right, names, COMPARED)
            case t.Le():
                return self._infix("<=", n.left, n.right, names, COMPARED)
            case t.Lt():
                return self._infix("<", n.left, n.right, names, COMPARED)
            case t.Succ():
                left = row(self.doc(n.left, names, SUM), " + 1")
                right = self.doc(n.right, names, SUM)
                return Part(row(right, " = ", left), COMPARED)
            case t.Forall() | t.Exists():
                return self._quantified(n, names)
            case t.Count():
                return Part(self._count(n, names))
            case t.Extreme():
                return Part(self._extreme(n, names))
            case _:
                assert_never(n)

    def _is_element(self, n: t.Get) -> bool:
        name = n.variable.name.removesuffix(t.AFTER)
        return not self.initially and name in self.places and self.places[name].is_set

    def _read(self, n: t.Get, names: Names, sign: str = "\\in") -> Part:
        name = n.variable.name
        if name.endswith(CALL):
            operator = name.removesuffix(CALL)
            if not n.keys:
                return Part(operator)
            return Part(listed(f"{operator}(", [self.doc(k, names) for k in n.keys], ")"))
        if self.initially:
            return Part(self.least(n.sort))
        if self._is_element(n):
            of = self.path(n.variable.name, n.keys[:-1], names)
            return Part(row(self.doc(n.keys[-1], names, SET), f" {sign} ", of), COMPARED)
        return Part(self.path(name, n.keys, names))

    def path(self, variable: str, keys: Sequence[t.Node], names: Names) -> Doc:
        """Returns the text that reads a variable at these keys, such as `log[b].end_offset`. If
        `keys` has fewer keys than the variable, the text denotes a function or a set.
        """
        place = self.places[variable.removesuffix(t.AFTER)]
        parts: list[Doc] = [place.base + ("'" if variable.endswith(t.AFTER) else "")]
        left = list(keys)
        for step in place.steps:
            if step:
                parts.append(f".{step}")
            elif left:
                parts += ["[", self.doc(left.pop(0), names), "]"]
            else:
                break
        return row(*parts)

    def _infix(self, sign: str, left: t.Node, right: t.Node, names: Names, level: int) -> Part:
        a, b = self.doc(left, names, level + 1), self.doc(right, names, level + 1)
        return Part(group(Align(row(a, Nest(2, row(End(), f"{sign} ", b))))), level)

    def _junction(self, n: t.And | t.Or, names: Names) -> Part:
        sign = "/\\" if isinstance(n, t.And) else "\\/"
        if not n.of:
            return Part("TRUE" if isinstance(n, t.And) else "FALSE")
        if len(n.of) == 1:
            return self.part(n.of[0], names)
        parts = [self.part(x, names) for x in n.of]
        if isinstance(n, t.And):
            parts = self._with_equal_records(n.of, parts, names)
        if len(parts) == 1:
            return parts[0]
        line = f" {sign} ".join(flat(p.at(NOT)) for p in parts)
        # In a list each item ends with its line, so only an inner list is in parentheses.
        return Part(Either(line, bullets(sign, [p.doc for p in parts])), JUNCTION)

    def _with_equal_records(
        self, of: Sequence[t.Node], parts: Sequence[Part], names: Names
    ) -> list[Part]:
        made: list[Part] = []
        k = 0
        while k < len(of):
            # equations of all fields of two records become one, `r = q`
            count = self._equal_fields(of[k:])
            first = of[k]
            if count and isinstance(first, t.Eq):
                left, right = (self.one_line(x, names) for x in (first.left, first.right))
                one, other = left.rpartition(".")[0], right.rpartition(".")[0]
                made.append(Part(group(row(one, Nest(2, row(End(), "= ", other)))), COMPARED))
            else:
                made.append(parts[k])
            k += max(count, 1)
        return made

    def _equal_fields(self, of: Sequence[t.Node]) -> int:
        """Returns the number of conjuncts at the start of the list `of` that together state that
        two records are equal, one conjunct for each field. If the list does not begin with such
        conjuncts, returns 0.

        For a record with the fields a and b, and the conjuncts `r.a = q.a`, `r.b = q.b` and any
        others, returns 2.
        """
        match of[0]:
            case t.Eq(left=t.Get() as left, right=t.Get() as right):
                first, other = self._record_at(left), self._record_at(right)
            case _:
                return 0
        if first is None or first != other:
            return 0
        names = list(first.fields())
        if len(of) < len(names) or left in self.local or right in self.local:
            return 0
        sources = left.variable.name.rpartition(".")[0], right.variable.name.rpartition(".")[0]
        for name, x in zip(names, of, strict=False):
            match x:
                case t.Eq(left=t.Get() as a, right=t.Get() as b) if (
                    a.variable.name,
                    b.variable.name,
                ) == (f"{sources[0]}.{name}", f"{sources[1]}.{name}") and (a.keys, b.keys) == (
                    left.keys,
                    right.keys,
                ):
                    continue
                case _:
                    return 0
        return len(names)

    def _record_at(self, n: t.Get) -> type[Record] | None:
        if self.initially or n.variable.name not in self.places:
            return None
        found = record_of(self.spec, n.variable.name)
        # a record with a map, for example, cannot be compared as a whole
        simple = found is not None and all(
            isinstance(s, LeafShape) for s in found.fields().values()
        )
        return found if simple else None

    def _conditional(self, n: t.Ite, names: Names) -> Part:
        return self._if(*(self.doc(x, names) for x in (n.test, n.then, n.other)))

    @staticmethod
    def _if(test: Doc, then: Doc, other: Doc) -> Part:
        lines = row("IF ", Align(test), End(), "THEN ", Align(then), End(), "ELSE ", Align(other))
        return Part(group(Align(lines)), OPEN)

    # ---- words with bound variables

    def _quantified(self, n: t.Forall | t.Exists, names: Names) -> Part:
        if isinstance(n, t.Forall) and (same := self._equal_sets(n, names)) is not None:
            return same
        universal = isinstance(n, t.Forall)
        inner = self.named(n.binders, names)
        ranges, body = self._ranges(n.binders, n.body, inner, universal=universal)
        letter = "\\A" if universal else "\\E"
        head = f" : {letter} ".join(", ".join(together) for together in _nested(ranges))
        head = f"{letter} {head} :"
        made = row(head, Nest(2, row(End(), self.doc(body, inner))))
        return Part(group(Align(made)), OPEN)

    def _ranges(
        self, binders: Sequence[t.Local], body: t.Node, names: Names, *, universal: bool
    ) -> tuple[list[str], t.Node]:
        # A range is `x \in S`: S is a set if the body requires that x is in it, else the sort of x.
        within: dict[int, t.Get] = {}
        if universal and isinstance(body, t.Implies):
            parts = list(body.left.of) if isinstance(body.left, t.And) else [body.left]
        elif not universal:
            parts = list(body.of) if isinstance(body, t.And) else [body]
        else:
            parts = []
        order = [b.uid for b in binders]
        for part in parts if not self.initially else []:
            if isinstance(part, t.Get) and self._is_element(part):
                *keys, last = part.keys
                free = frozenset[int]().union(*map(t.locals_of, keys))
                at = order.index(last.uid) if isinstance(last, t.Local) and last.uid in order else 0
                if order[at : at + 1] == [getattr(last, "uid", -1)] and not free & set(order[at:]):
                    within.setdefault(order[at], part)
        rest = [p for p in parts if p not in within.values()]
        if within and universal and isinstance(body, t.Implies):
            left = rest[0] if len(rest) == 1 else t.And(tuple(rest))
            body = t.Implies(left, body.right) if rest else body.right
        elif within:
            body = rest[0] if len(rest) == 1 else t.And(tuple(rest))
        ranges = []
        for b in binders:
            found = within.get(b.uid)
            among = (
                self.set_of(b.sort)
                if found is None
                else flat(self.path(found.variable.name, found.keys[:-1], names))
            )
            ranges.append(f"{names[b.uid]} \\in {among}")
        return ranges, body

    def _equal_sets(self, n: t.Forall, names: Names) -> Part | None:
        match n:
            case t.Forall(binders=(b,), body=t.Eq(left=left, right=right)):
                one, other = self.set_where(left, b, names), self.set_where(right, b, names)
                if one is None or other is None or left.sort != t.BOOL:
                    return None
                return Part(row(one.at(SET), " = ", other.at(SET)), COMPARED)
            case _:
                return None

    def set_where(self, n: t.Node, b: t.Local, names: Names) -> Part | None:
        """Returns a short form of the set `{b \\in T : n}`, such as `S \\union {x}`. If the writer
        knows no short form, returns None.
        """
        if n in self.local:
            return None
        match n:
            case t.Const():
                return Part(self.set_of(b.sort) if n.value else "{}")
            case t.Get() if self._is_element(n) and n.keys[-1] is b:
                if any(b.uid in t.locals_of(k) for k in n.keys[:-1]):
                    return None
                return Part(self.path(n.variable.name, n.keys[:-1], names))
            case t.Eq():
                return self._singleton([n], b, names)
            case t.Ite() if b.uid not in t.locals_of(n.test):
                then = self.set_where(n.then, b, names)
                other = self.set_where(n.other, b, names)
                if then is None or other is None:
                    return None
                return self._if(self.doc(n.test, names), then.doc, other.doc)
            case t.Or() if all(isinstance(x, t.Eq) for x in n.of):
                return self._singleton([x for x in n.of if isinstance(x, t.Eq)], b, names)
            case t.Or(of=(first, *others)) if all(isinstance(x, t.Eq) for x in others):
                added = [x for x in others if isinstance(x, t.Eq)]
                return self._changed("\\union", first, added, b, names)
            case t.And(of=(first, *others)) if all(
                isinstance(x, t.Not) and isinstance(x.of, t.Eq) for x in others
            ):
                removed = [x.of for x in others if isinstance(x, t.Not)]
                return self._changed(
                    "\\", first, [x for x in removed if isinstance(x, t.Eq)], b, names
                )
            case _:
                return None

    def _changed(
        self, sign: str, of: t.Node, elements: Sequence[t.Eq], b: t.Local, names: Names
    ) -> Part | None:
        whole, others = self.set_where(of, b, names), self._singleton(elements, b, names)
        if whole is None or others is None:
            return None
        return Part(row(whole.at(SUM), f" {sign} ", others.at(SET)), SET)

    def _singleton(self, equal: Sequence[t.Eq], b: t.Local, names: Names) -> Part | None:
        elements: list[str] = []
        for e in equal:
            other = e.right if e.left is b else e.left if e.right is b else None
            if other is None or b.uid in t.locals_of(other):
                some = next((x for x in (e.left, e.right) if isinstance(x, t.Some)), None)
                if some is None or some.of is not b:
                    return None
                other = e.left if e.right is some else e.right
                if b.uid in t.locals_of(other) or other.sort.optional:
                    return None
            if other.sort.optional:
                return None
            elements.append(self.one_line(other, names))
        return Part("{" + ", ".join(elements) + "}")

    def _count(self, n: t.Count, names: Names) -> Doc:
        inner = self.named(n.binders, names)
        if len(n.binders) == 1:
            (b,) = n.binders
            short = self.set_where(n.body, b, names)
            if short is not None:
                return row("Cardinality(", short.doc, ")")
            ranges, body = self._ranges(n.binders, n.body, inner, universal=False)
            return row("Cardinality({", comprehension(ranges[0], self.doc(body, inner)), "})")
        whole = t.Local(t.SortInfo("Tuple", "sort"), "tuple")
        named = self.named((whole,), inner)[whole.uid]
        sets = " \\X ".join(self.set_of(b.sort) for b in n.binders)
        parts = {b.uid: f"{named}[{k}]" for k, b in enumerate(n.binders, start=1)}
        test = self.doc(n.body, {**names, **parts})
        return row("Cardinality({", comprehension(f"{named} \\in {sets}", test), "})")

    def _extreme(self, n: t.Extreme, names: Names) -> Doc:
        inner = self.named((n.binder,), names)
        word = "Last" if n.last else "First"
        self.words.add(word)
        test = row(f"LAMBDA {inner[n.binder.uid]} :", Nest(2, row(End(), self.doc(n.body, inner))))
        items = [self.set_of(n.binder.sort), group(Align(test)), self.doc(n.default, names)]
        return listed(f"{word}(", items, ")")


def _nested(ranges: Sequence[str]) -> list[list[str]]:
    # one group for each quantifier: no set in it depends on one of its variables
    groups: list[list[str]] = [[]]
    for one in ranges:
        _, _, among = one.partition(" \\in ")
        bound = {x.partition(" ")[0] for x in groups[-1]}
        if bound & set(re.findall(r"\w+", among)):
            groups.append([])
        groups[-1].append(one)
    return groups


def comprehension(head: str, body: Doc) -> Doc:
    return group(Align(row(f"{head} :", Nest(2, row(End(), body)))))


def function(key: str, among: str, body: Doc) -> Doc:
    return group(Align(row(f"[{key} \\in {among} |->", Nest(2, row(End(), body)), "]")))
