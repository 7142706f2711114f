"""Writes the assignments of an action in TLA+: the next value of each variable, in most cases as an
EXCEPT.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from model.language import terms as t
from model.language.state_variables import LeafShape, MapShape, RecordShape, Shape
from model.language.tla.expressions import (
    NOT,
    OPEN,
    SET,
    SUM,
    Part,
    Writer,
    comprehension,
    function,
)
from model.language.tla.layout import Align, Doc, End, Nest, Row, becomes, flat, group, listed, row
from model.language.tla.naming import Names
from model.language.tla.places import is_set, record_of

Clause = tuple[Doc, Doc]  # the path and the value of one change in an EXCEPT


@dataclass(frozen=True, kw_only=True)
class Change:
    """An assignment to a variable or to a part of a variable, such as `log[b].end_offset`.

    In this example, `steps` is `("", "end_offset")`, where "" represents a key, and `keys` is
    `(b,)`.
    """

    steps: tuple[str, ...]  # fields, and "" for keys
    keys: tuple[t.Node, ...]  # those that are left
    value: t.Node
    condition: t.Node | None  # of a `for` over a set
    names: Names  # with the loop variables that are bound so far
    loops: frozenset[int]  # uids of the loop variables that are not bound yet
    tests: tuple[Doc, ...] = ()  # it applies only if all are true

    def into(self, names: Names | None = None) -> Change:
        """Returns the assignment without the first step of its path: `[b].size` becomes `.size`. If
        `names` is not None, the loop variables in the result have these names.
        """
        made = replace(self, steps=self.steps[1:], keys=self.keys[int(self.steps[0] == "") :])
        return made if names is None else replace(made, names=names)

    @property
    def loop(self) -> t.Local | None:
        """The bound variable `b` of an assignment to `log[b]` for all `b`. None for any other
        assignment.
        """
        key = self.keys[0]
        if isinstance(key, t.Local) and key.uid in self.loops:
            return key
        return None

    @property
    def is_fixed(self) -> bool:
        return not t.locals_of(self.keys[0]) & self.loops


@dataclass(frozen=True)
class Blank(Part):
    """A variable, or a part of a variable, that `init` does not assign. So it has its least value:
    false, 0, `Nothing`, or an empty set.
    """

    writer: Writer | None = None
    shape: Shape | None = None

    @classmethod
    def of(cls, writer: Writer, shape: Shape) -> Blank:
        return cls(_blank(writer, shape, {}), OPEN, writer, shape)


def _blank(writer: Writer, shape: Shape, outer: Names) -> Doc:
    match shape:
        case LeafShape():
            return writer.least(shape.info)
        case MapShape() if is_set(shape):
            return "{}"
        case MapShape():
            among = writer.set_of(shape.key.info)
            key = t.Local(shape.key.info, snake(among))
            inside = writer.named((key,), outer)
            return function(inside[key.uid], among, _blank(writer, shape.value, inside))
        case RecordShape():
            fields = shape.record.fields().items()
            parts = [becomes(name, "|->", _blank(writer, inner, outer)) for name, inner in fields]
            return listed("[", parts, "]")


def below(current: Part, shape: Shape, step: str) -> Part:
    """Returns the text of a part of a value: `log[b]` and the step `.size` give `log[b].size`. If
    `current` is a Blank, the result is a Blank.
    """
    if isinstance(current, Blank):
        assert current.writer is not None
        return Blank.of(current.writer, shape)
    return Part(row(current.doc, step))


@dataclass(frozen=True)
class Updates:
    writer: Writer

    def value(self, variable: str, writes: Sequence[t.Write], names: Names) -> Doc:
        shape = self.writer.spec.shapes[variable]
        before = Blank.of(self.writer, shape) if self.writer.initially else Part(variable)
        changes = [self._change(w, names) for w in writes]
        if not isinstance(shape, LeafShape):
            return self.full(shape, before, changes)
        made = self._leaf(before, changes)
        # `=` binds more tightly than a connective: `x' = a \/ b` would be `(x' = a) \/ b`.
        return made.doc if made.level in (OPEN, NOT) else made.at(SET)

    def _change(self, w: t.Write, names: Names) -> Change:
        return Change(
            steps=self.writer.places[w.variable.name].steps,
            keys=w.keys,
            value=w.value,
            condition=None if isinstance(w.condition, t.Const) else w.condition,
            names=names,
            loops=frozenset(b.uid for b in w.binders),
        )

    # ---- whole values

    def full(self, shape: Shape, current: Part, changes: Sequence[Change]) -> Doc:
        """Returns the TLA+ expression for the new value of a variable, or of a part of a variable.

        `current` is the expression for the old value. If `changes` is empty, returns `current`.
        """
        if not changes:
            return current.doc
        if is_set(shape):
            assert isinstance(shape, MapShape)
            return self._set(shape, current, changes)
        match shape:
            case LeafShape():
                return self._leaf(current, changes).doc
            case RecordShape():
                return self._record(shape, current, changes)
            case MapShape():
                return self._map(shape, current, changes)

    def _leaf(self, current: Part, changes: Sequence[Change]) -> Part:
        made: Part = current
        for c in changes:
            made = self._chosen(c, self.writer.part(c.value, c.names), made)
        return made

    def _chosen(self, c: Change, then: Part, otherwise: Part) -> Part:
        tests = list(c.tests)
        if c.condition is not None:
            tests.append(self.writer.doc(c.condition, c.names))
        if not tests:
            return then
        test = tests[0] if len(tests) == 1 else " /\\ ".join(f"({flat(x)})" for x in tests)
        lines = row(
            "IF ", Align(test), End(), "THEN ", Align(then.doc), End(), "ELSE ",
            Align(otherwise.doc),
        )  # fmt: skip
        return Part(group(Align(lines)), OPEN)

    def _record(self, shape: RecordShape, current: Part, changes: Sequence[Change]) -> Doc:
        fields = shape.record.fields()
        if {c.steps[0] for c in changes} != fields.keys() and not isinstance(current, Blank):
            return self._except(shape, current, changes)
        if (copied := self._copied(shape, changes)) is not None:
            return copied
        values = [
            becomes(name, "|->", self._field(name, inner, current, changes))
            for name, inner in fields.items()
        ]
        return listed("[", values, "]")

    def _field(self, name: str, shape: Shape, current: Part, changes: Sequence[Change]) -> Doc:
        return self.full(
            shape,
            below(current, shape, f".{name}"),
            [c.into() for c in changes if c.steps[0] == name],
        )

    def _copied(self, shape: RecordShape, changes: Sequence[Change]) -> Doc | None:
        # If each field `f` is set to `r.f`, the record `r` is copied.
        fields = shape.record.fields()
        simple = all(isinstance(s, LeafShape) for s in fields.values())
        if self.writer.initially or not simple or len(changes) != len(fields):
            return None
        found: set[str] = set()
        for c in changes:
            value = c.value
            if c.tests or c.condition is not None or not isinstance(value, t.Get):
                return None
            name = value.variable.name
            if name not in self.writer.places or value in self.writer.local:
                return None
            if record_of(self.writer.spec, name) is not shape.record or not name.endswith(
                f".{c.steps[0]}"
            ):
                return None
            found.add(self.writer.one_line(value, c.names).rpartition(".")[0])
        return found.pop() if len(found) == 1 else None

    def _map(self, shape: MapShape, current: Part, changes: Sequence[Change]) -> Doc:
        if all(c.is_fixed for c in changes) and not isinstance(current, Blank):
            return self._except(shape, current, changes)
        among = self.writer.set_of(shape.key.info)
        loop = next((c.loop for c in changes if c.loop is not None), None)
        key = t.Local(shape.key.info, snake(among) if loop is None else loop.name)
        named = self.writer.named((key,), changes[0].names)[key.uid]
        inner = [self._at_key(c, key, named) for c in changes]
        cell = below(current, shape.value, f"[{named}]")
        return function(named, among, self.full(shape.value, cell, inner))

    def _at_key(self, c: Change, key: t.Local, named: str) -> Change:
        loop = c.loop
        names = {**c.names, key.uid: named}
        if loop is not None:
            names[loop.uid] = named
            return replace(c.into(names), loops=c.loops - {loop.uid})
        # an assignment to one element applies at its key only
        test = row(f"{named} = ", self.writer.doc(c.keys[0], c.names, SUM))
        return replace(c.into(names), tests=(*c.tests, test))

    # ---- sets

    def _set(self, shape: MapShape, current: Part, changes: Sequence[Change]) -> Doc:
        made = current
        for c in changes:
            made = self._changed_set(shape, made, c)
        return made.doc

    def _changed_set(self, shape: MapShape, current: Part, c: Change) -> Part:
        loop = c.loop
        if loop is not None:
            tested = replace(c, condition=None)
            return self._chosen(tested, self._where(shape, current, c, loop), current)
        element = row("{", self.writer.doc(c.keys[0], c.names), "}")
        added = Part(row(current.at(SUM), " \\union ", element), SET)
        removed = Part(row(current.at(SUM), " \\ ", element), SET)
        if isinstance(c.value, t.Const):
            return self._chosen(c, added if c.value.value else removed, current)
        lines = row(
            "IF ", Align(self.writer.doc(c.value, c.names)), End(), "THEN ", added.doc, End(),
            "ELSE ", removed.doc,
        )  # fmt: skip
        return self._chosen(c, Part(group(Align(lines)), OPEN), current)

    def _where(self, shape: MapShape, current: Part, c: Change, loop: t.Local) -> Part:
        key = t.Local(shape.key.info, loop.name)
        named = self.writer.named((key,), c.names)[key.uid]
        names = {**c.names, loop.uid: named}
        among = self.writer.set_of(shape.key.info)
        if c.condition is not None:
            body = row(
                "IF ", Align(self.writer.doc(c.condition, names)), End(),
                "THEN ", Align(self.writer.doc(c.value, names)), End(),
                f"ELSE {named} \\in ", current.at(SET),
            )  # fmt: skip
            return Part(row("{", comprehension(f"{named} \\in {among}", group(Align(body))), "}"))
        short = self.writer.set_where(c.value, loop, names)
        if short is not None:
            return short
        body = self.writer.doc(c.value, names)
        return Part(row("{", comprehension(f"{named} \\in {among}", body), "}"))

    # ---- EXCEPT

    def _except(self, shape: Shape, current: Part, changes: Sequence[Change]) -> Doc:
        clauses = [
            becomes(row("!", path), "=", value) for path, value in self._clauses(shape, changes)
        ]
        lines: list[Doc] = []
        for k, clause in enumerate(clauses):
            lines += [End(), clause, *([","] if k + 1 < len(clauses) else [])]
        head = row("[", current.doc, " EXCEPT")
        return group(Align(row(head, Nest(2, Row(tuple(lines))), "]")))

    def _clauses(self, shape: Shape, changes: Sequence[Change]) -> list[Clause]:
        # the old value in an EXCEPT
        here = Part("@")
        if is_set(shape) or isinstance(shape, LeafShape):
            return [("", self.full(shape, here, changes))]
        if isinstance(shape, RecordShape):
            fields = shape.record.fields()
            names = dict.fromkeys(c.steps[0] for c in changes)
            if len(fields) > 1 and _replaced(shape, changes):
                return [("", self.full(shape, here, changes))]
            found: list[Clause] = []
            for name in names:
                inner = [c.into() for c in changes if c.steps[0] == name]
                found += [(row(f".{name}", p), v) for p, v in self._clauses(fields[name], inner)]
            return found
        if not all(c.is_fixed for c in changes):
            return [("", self.full(shape, here, changes))]
        found = []
        for _, together in groupby(changes, key=lambda c: id(c.keys[0])):
            same = list(together)
            key = row("[", self.writer.doc(same[0].keys[0], same[0].names), "]")
            inner = [c.into() for c in same]
            found += [(row(key, p), v) for p, v in self._clauses(shape.value, inner)]
        return found


def _replaced(shape: Shape, changes: Sequence[Change]) -> bool:
    if not changes:
        return False
    if isinstance(shape, LeafShape):
        return any(not c.tests and c.condition is None for c in changes)
    if isinstance(shape, RecordShape):
        return all(
            _replaced(inner, [c.into() for c in changes if c.steps[0] == name])
            for name, inner in shape.record.fields().items()
        )
    inner = [c.into() for c in changes if c.loop is not None]
    return len(inner) == len(changes) and _replaced(shape.value, inner)


def snake(name: str) -> str:
    """Returns the words of a class name in lower case, joined by underscores: LeaderEpoch becomes
    `leader_epoch`.
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
