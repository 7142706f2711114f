"""Writes the definitions of a TLA+ module: sets of records, operators, and LET definitions for
repeated terms.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from model.language import terms as t
from model.language.state_variables import LeafShape, MapShape, RecordShape, Shape
from model.language.tla.layout import Align, Doc, End, Nest, Row, group, listed, row, text
from model.language.tla.naming import Names
from model.language.tla.operators import Operator
from model.language.tla.places import shape_type
from model.language.tla.prepared import Prepared
from model.language.tla.sharing import open_in, repeated

# Characters of a repeated term: a shorter term is repeated, not named in a LET.
NAMED, UNNAMED = 14, 40
MOST = 3  # bound variables of a repeated term


class Definitions(Prepared):
    @staticmethod
    def _remark(summary: str) -> list[str]:
        lines = textwrap.wrap(plain(summary), 90)
        return ["(* " + "\n   ".join(lines) + " *)"] if lines else []

    def with_remark(self, summary: str, definition: str) -> str:
        return "\n".join([*self._remark(summary), definition])

    def records(self) -> dict[type, str]:
        found: dict[type, str] = {}

        def visit(shape: Shape) -> None:
            match shape:
                case MapShape():
                    visit(shape.value)
                case RecordShape():
                    for inner in shape.record.fields().values():
                        visit(inner)
                    name = shape.record.__name__
                    tried = (name, f"{name}Record", *(f"{name}{k}" for k in range(2, 99)))
                    used = {*found.values(), *self.writer.taken}
                    if shape.record not in found:
                        found[shape.record] = next(x for x in tried if x not in used)
                case LeafShape():
                    pass

        for shape in self.spec.shapes.values():
            visit(shape)
        return found

    def record_sets(self) -> Iterator[str]:
        names = self.records()
        for record, name in names.items():
            parts: list[Doc] = [f"{f}: {shape_type(s, names)}" for f, s in record.fields().items()]  # type: ignore[attr-defined]
            summary = " ".join((record.__doc__ or "").split("\n\n")[0].split())
            made = row(f"{name} ==", Nest(2, row(End(), listed("[", parts, "]"))))
            yield self.with_remark(summary, text(group(made)))

    def operators(self) -> list[str]:
        """Returns the definitions of all operators that the module uses. If an operator calls
        another operator, the definition of the called operator comes first.
        """
        made: dict[str, str] = {}

        def define(operator: Operator) -> None:
            if operator.name in made:
                return
            body = self.folding.body(operator)
            called = [
                n.variable.name.removesuffix("()") for n in t.walk(body) if isinstance(n, t.Get)
            ]
            for inner in self.folding.operators:
                if inner.name in called:
                    define(inner)
            made[operator.name] = self._operator(operator, body)

        while left := [o for n, o in self.folding.used.items() if n not in made]:
            define(left[0])
        return list(made.values())

    def _operator(self, operator: Operator, body: t.Node) -> str:
        self.start()
        names = self.writer.named(operator.params, {})
        head = operator.name
        if operator.params:
            head += f"({', '.join(names[p.uid] for p in operator.params)})"
        definitions = self.lets([body], {}, operator.params, names)
        made = self.definition(head, definitions, self.writer.doc(body, names))
        return self.with_remark(operator.summary, made)

    def start(self) -> None:
        self.writer.local, self.writer.taken = {}, self._taken

    def lets(
        self,
        roots: Sequence[t.Node],
        in_spec: Mapping[t.Node, str],
        params: Sequence[t.Local],
        names: Names,
    ) -> list[Doc]:
        """Returns LET definitions for the long terms that occur several times in `roots`.

        `in_spec` has the names that the spec gives to terms. `params` are the variables that a
        definition may contain as free variables; any other free variable of a term becomes a
        parameter of its definition. Until the next call of `start`, the writer writes the name of a
        definition in place of its term.
        """
        taken = self.writer.taken | set(names.values())
        constants = list(self.lifting.atoms.values())
        made: list[Doc] = []
        for n in repeated(roots):
            free = open_in(n, [*params, *constants])
            inner = self.writer.named(free, names)
            least = NAMED if n in in_spec and not free else UNNAMED
            if len(self.writer.one_line(n, inner)) < least or len(free) > MOST:
                continue
            base = re.sub(r"\W", "_", in_spec.get(n, "shared"))
            tried = (base, *(f"{base}_{k}" for k in range(2, 1000)))
            chosen = next(x for x in tried if x not in taken | set(inner.values()))
            taken.add(chosen)
            head = f"{chosen}({', '.join(inner[x.uid] for x in free)})" if free else chosen
            made.append(row(f"{head} == ", Align(self.writer.doc(n, inner))))
            self.writer.local[n] = chosen, free
        self.writer.taken = self._taken | {name for name, _ in self.writer.local.values()}
        return made

    def definition(self, head: str, lets: Sequence[Doc], body: Doc) -> str:
        if not lets:
            return text(group(row(f"{head} ==", Nest(2, row(End(), Align(body))))))
        lines: list[Doc] = []
        for one in lets:
            lines += [*([End()] if lines else []), one]
        inside = row("LET ", Align(Row(tuple(lines))), End(), "IN  ", Align(body))
        return text(row(f"{head} ==", Nest(2, row(End(), Align(inside)))))


def plain(words: str) -> str:
    """Returns the words on one line, with a blank inside each mark that begins or ends a TLA+
    comment.
    """
    return " ".join(words.split()).replace("(*", "( *").replace("*)", "* )")
