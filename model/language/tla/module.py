"""Writes the module of a spec: constants, sets, variables, operators, actions, claims."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from model.language import terms as t
from model.language.actions import Action, Claim, Liveness
from model.language.scope import Scope
from model.language.spec import Spec, title_of
from model.language.state_variables import LeafShape, MapShape, RecordShape, Shape
from model.language.symmetry import symmetric
from model.language.tla.expressions import COMPARED, OPEN, Names, shape_type
from model.language.tla.layout import (
    Align,
    Doc,
    End,
    Nest,
    Row,
    becomes,
    bullets,
    filled,
    group,
    listed,
    row,
    text,
)
from model.language.tla.lifting import camel
from model.language.tla.operators import Operator
from model.language.tla.prepared import Prepared, never
from model.language.tla.sharing import open_in, repeated
from model.language.tla.updates import Updates

# Characters of a repeated term: a shorter term is repeated, not named in a LET.
NAMED, UNNAMED = 14, 40
MOST = 3  # bound variables of a repeated term

PRELUDE = {
    "First": """\
First(S, P(_), d) ==
  IF \\E x \\in S : P(x) THEN CHOOSE x \\in S : P(x) /\\ \\A y \\in S : P(y) => x <= y ELSE d""",
    "Last": """\
Last(S, P(_), d) ==
  IF \\E x \\in S : P(x) THEN CHOOSE x \\in S : P(x) /\\ \\A y \\in S : P(y) => y <= x ELSE d""",
}


def branches(n: t.Node) -> bool:
    """True if TLC would take the formula, as a conjunct, for a choice of next states."""
    match n:
        case t.Or():
            return len(n.of) > 1
        case t.Exists():
            return True
        case t.And():
            return any(map(branches, n.of))
        case t.Forall():
            return branches(n.body)
        case t.Implies():
            return branches(n.right)
        case t.Ite():
            return branches(n.then) or branches(n.other)
        case _:
            return False


class Module(Prepared):
    """Writes a spec as a module."""

    @classmethod
    def of(cls, spec: Spec, scope: Scope | None) -> Module:
        """Returns the spec's module; the one at the spec's own scope (None) is cached."""
        if scope is not None:
            return cls(spec, scope)
        if "_module" not in spec.__dict__:
            spec.__dict__["_module"] = cls(spec)
        made: Module = spec.__dict__["_module"]
        return made

    # ---- the module

    def text(self) -> str:
        """Returns the module's text."""
        spec = self.spec
        body = [
            "TypeOK ==\n"
            + _listed(
                [f"{n} \\in {shape_type(s, self._records())}" for n, s in spec.shapes.items()]
            ),
            self._init(),
            *(self._action(a) for a in self.actions),
            self._next(),
            text(row("Spec ==", Nest(2, row(End(), bullets("/\\", list(self._behaviours())))))),
            *(self._claim(c) for c in self._lifted(lambda s: s.claims)),
            *(self._steps(c) for c in self._lifted(lambda s: s.action_properties)),
            *(self._liveness(c) for c in self._lifted_liveness()),
            *(self._claim(c) for c in self._lifted(lambda s: s.witnesses)),
            *self._nevers(),
        ]
        operators = self._operators()
        variables = list(spec.shapes)
        parts = [
            *self._opening(),
            text(row("VARIABLES ", filled("", variables, ""))),
            text(filled("vars == <<", variables, ">>")),
            *(PRELUDE[word] for word in PRELUDE if word in self.writer.words),
            *self._record_sets(),
            *operators,
            *body,
            "=" * 78,
        ]
        return "\n\n".join(parts) + "\n"

    def _opening(self) -> Iterator[str]:
        yield f"---- MODULE {self.name} ----".center(78, "-")
        yield "\n".join(self.header("(*", "*)"))
        yield "EXTENDS Integers, FiniteSets, TLC"
        names = [*self.sorts("sort"), "Nothing", *self.constants]
        yield text(row("CONSTANTS ", filled("", names, "")))
        yield "\n".join(f"{n} == {'..'.join(self.ranges[n])}" for n in self.sorts("ordered", "int"))
        for labels in self.writer.labels.values():
            yield "\n".join(f"{label} == {k}" for k, label in enumerate(labels))
        sorts = symmetric(self.spec)
        if sorts:
            sets = [f"Permutations({s})" for s in sorts]
            yield "Symmetry ==\n  " + "\n    \\union ".join(sets)

    def header(self, opening: str, closing: str) -> Iterator[str]:
        """Yields the lines of the header: what the module is, its scope, and what made it."""
        title, _, variant = title_of(self.spec).partition(" ")
        doc = " ".join((type(self.spec).__doc__ or "").strip().split("\n\n")[0].split())
        values = {n: getattr(self.spec, n) for n in self.spec.constants}
        scope = ", ".join(f"{n} {str(v).lower()}" for n, v in values.items())
        fixed = ", ".join(self.fixed)
        changed = {n: v for n, v in values.items() if v != self.spec.constants[n].default}
        command = f"urteil export {title}" + (f" --variant {variant}" if variant else "")
        command += "".join(f" --set {n}={str(v).lower()}" for n, v in changed.items())
        rows = [
            ("", doc),
            ("", ""),
            ("Spec", f"{title}, variant {variant}" if variant else title),
            ("Scope", scope or "see the configuration"),
            ("Fixed", f"{fixed}: export again to change them" if fixed else ""),
            ("Made by", command),
        ]
        for head, words in rows:
            if words or not head:
                first = f"{head:9}" if head else ""
                lines = textwrap.wrap(
                    _plain(words), 86, initial_indent=first, subsequent_indent=" " * len(first)
                )
                for line in lines or [""]:
                    yield f"{opening} {line:86} {closing}".rstrip()

    @staticmethod
    def _remark(summary: str) -> list[str]:
        lines = textwrap.wrap(_plain(summary), 90)
        return ["(* " + "\n   ".join(lines) + " *)"] if lines else []

    def _with_remark(self, summary: str, definition: str) -> str:
        return "\n".join([*self._remark(summary), definition])

    # ---- records and operators

    def _records(self) -> dict[type, str]:
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

    def _record_sets(self) -> Iterator[str]:
        names = self._records()
        for record, name in names.items():
            parts: list[Doc] = [f"{f}: {shape_type(s, names)}" for f, s in record.fields().items()]  # type: ignore[attr-defined]
            summary = " ".join((record.__doc__ or "").split("\n\n")[0].split())
            made = row(f"{name} ==", Nest(2, row(End(), listed("[", parts, "]"))))
            yield self._with_remark(summary, text(group(made)))

    def _operators(self) -> list[str]:
        """Returns the definitions of all used operators, each after the operators that it calls."""
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
        self._start()
        names = self.writer.named(operator.params, {})
        head = operator.name
        if operator.params:
            head += f"({', '.join(names[p.uid] for p in operator.params)})"
        definitions = self._lets([body], {}, operator.params, names)
        made = self._definition(head, definitions, self.writer.doc(body, names))
        return self._with_remark(operator.summary, made)

    def _start(self) -> None:
        """Forgets all LET names, before the next definition is written."""
        self.writer.local, self.writer.taken = {}, self._taken

    def _lets(
        self,
        roots: Sequence[t.Node],
        in_spec: Mapping[t.Node, str],
        params: Sequence[t.Local],
        names: Names,
    ) -> list[Doc]:
        """Returns LET definitions for the long terms that occur several times.

        Until the next `_start`, the writer writes the names in place of these terms.
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

    def _definition(self, head: str, lets: Sequence[Doc], body: Doc) -> str:
        if not lets:
            return text(group(row(f"{head} ==", Nest(2, row(End(), Align(body))))))
        lines: list[Doc] = []
        for one in lets:
            lines += [*([End()] if lines else []), one]
        inside = row("LET ", Align(Row(tuple(lines))), End(), "IN  ", Align(body))
        return text(row(f"{head} ==", Nest(2, row(End(), Align(inside)))))

    # ---- actions

    def _init(self) -> str:
        self._start()
        init, self.writer.initially = self.initial, True
        names = self.writer.named(init.params, {})
        lines = self._guards(init, names) + [
            becomes(n, "=", Updates(self.writer).value(n, _of(n, init.writes), names))
            for n in self.spec.shapes
        ]
        self.writer.initially = False
        body = bullets("/\\", lines)
        if init.params:
            body = row(f"\\E {self._each(init.params, names)} :", Nest(2, row(End(), Align(body))))
        return text(row("Init ==", Nest(2, row(End(), body))))

    def _action(self, action: Action) -> str:
        self._start()
        names = self.writer.named(action.params, {})
        folded = replace(
            action,
            writes=[self._folded_write(w) for w in action.writes],
        )
        roots = [self.folding.folded(g.formula) for g in action.guards]
        roots += [x for w in folded.writes for x in (*w.keys, w.condition, w.value)]
        known = {self.folding.folded(n): name for n, name in action.names.items()}
        lets = self._lets(roots, known, action.params, names)
        lines = self._guards(action, names)
        changed = [n for n in self.spec.shapes if _of(n, action.writes)]
        lines += [
            becomes(f"{n}'", "=", Updates(self.writer).value(n, _of(n, folded.writes), names))
            for n in changed
        ]
        same = [n for n in self.spec.shapes if n not in changed]
        lines += [filled("UNCHANGED <<", same, ">>")] if same else []
        body = bullets("/\\", lines) if lines else "TRUE"
        made = self._definition(self._call(action, names), lets, body)
        if not lets and "\n" not in made:
            made = text(row(f"{self._call(action, names)} ==", Nest(2, row(End(), body))))
        return self._with_remark(action.summary, made)

    def _folded_write(self, w: t.Write) -> t.Write:
        fold = self.folding.folded
        return replace(
            w, keys=tuple(map(fold, w.keys)), condition=fold(w.condition), value=fold(w.value)
        )

    def _guards(self, action: Action, names: Names) -> list[Doc]:
        lines: list[Doc] = []
        for formula in (c for g in action.guards for c in self._conjuncts(g.formula)):
            folded = self.folding.folded(formula)
            if branches(formula):
                lines.append(row(self.writer.doc(folded, names, COMPARED + 1), " = TRUE"))
            else:
                lines.append(self.writer.doc(folded, names, OPEN))
        return lines

    def _conjuncts(self, n: t.Node) -> Iterator[t.Node]:
        """Yields the conjuncts of a guard.

        A conjunction stays whole if an operator call replaces it or several of its parts.
        """
        folded = self.folding.folded(n)
        if isinstance(n, t.And) and isinstance(folded, t.And) and len(folded.of) == len(n.of):
            for x in n.of:
                yield from self._conjuncts(x)
        else:
            yield n

    def _each(self, binders: Sequence[t.Local], names: Names) -> str:
        return ", ".join(f"{names[b.uid]} \\in {self.writer.set_of(b.sort)}" for b in binders)

    def _call(self, action: Action, names: Names) -> str:
        arguments = ", ".join(names[p.uid] for p in action.params)
        return f"{camel(action.name)}({arguments})" if arguments else camel(action.name)

    def _quantified_call(self, action: Action, letter: str, before: str, after: str) -> Doc:
        self._start()
        names = self.writer.named(action.params, {})
        call = f"{before}{self._call(action, names)}{after}"
        if not action.params:
            return call
        head = f"\\{letter} {self._each(action.params, names)} :"
        return group(Align(row(head, Nest(2, row(End(), call)))))

    def _next(self) -> str:
        calls = [self._quantified_call(a, "E", "", "") for a in self.spec.actions]
        return text(row("Next ==", Nest(2, row(End(), bullets("\\/", calls)))))

    def _behaviours(self) -> Iterator[Doc]:
        yield "Init"
        yield "[][Next]_vars"
        for action in self.spec.actions:
            if action.fair is not None:
                letter = "S" if action.fair == "strong" else "W"
                yield self._quantified_call(action, "A", f"{letter}F_vars(", ")")

    # ---- claims

    def _claim(self, claim: Claim) -> str:
        return self._with_remark(claim.summary, self._formula(camel(claim.name), claim.formula))

    def _formula(self, head: str, formula: t.Node) -> str:
        self._start()
        body = self.folding.folded(formula)
        lets = self._lets([body], {}, (), {})
        return self._definition(head, lets, self.writer.doc(body, {}))

    def _steps(self, claim: Claim) -> str:
        self._start()
        body = row("[][", Align(self.writer.doc(self.folding.folded(claim.formula), {})), "]_vars")
        return self._with_remark(claim.summary, self._definition(camel(claim.name), [], body))

    def _liveness(self, claim: Liveness) -> str:
        self._start()
        names = self.writer.named(claim.params, {})

        def shown(n: t.Node) -> Doc:
            return row("(", Align(self.writer.doc(self.folding.folded(n), names)), ")")

        match claim.kind:
            case "eventually":
                body = row("<>", shown(claim.goal))
            case "eventually always":
                body = row("<>[]", shown(claim.goal))
            case "leads to" if isinstance(claim.premise, t.Const):
                body = row("[]<>", shown(claim.goal))
            case "leads to":
                body = group(row(shown(claim.premise), End(), "~> ", shown(claim.goal)))
        if claim.params:
            body = row(f"\\A {self._each(claim.params, names)} :", Nest(2, row(End(), Align(body))))
        made = self._definition(camel(claim.name), [], group(Align(body)))
        return self._with_remark(claim.summary, made)

    def _nevers(self) -> Iterator[str]:
        if self.spec.witnesses:
            lines = [
                "(* A witness must be reachable: TLC must violate each of these invariants. *)"
            ]
            lines += [f"{never(w.name)} == ~{camel(w.name)}" for w in self.spec.witnesses]
            yield "\n".join(lines)


def _of(variable: str, writes: Iterable[t.Write]) -> list[t.Write]:
    return [w for w in writes if w.variable.name.partition(".")[0] == variable]


def _listed(items: Sequence[str]) -> str:
    return "\n".join(f"  /\\ {item}" for item in items)


def _plain(words: str) -> str:
    return " ".join(words.split()).replace("(*", "( *").replace("*)", "* )")
