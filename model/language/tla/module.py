"""Writes the TLA+ module of a spec."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from model.language import terms as t
from model.language.actions import Action, Claim, Liveness
from model.language.scope import Scope
from model.language.spec import Spec, title_of
from model.language.symmetry import symmetric
from model.language.tla.definitions import Definitions, plain
from model.language.tla.expressions import COMPARED, OPEN
from model.language.tla.layout import (
    Align,
    Doc,
    End,
    Nest,
    becomes,
    bullets,
    filled,
    group,
    listed,
    row,
    text,
)
from model.language.tla.lifting import camel
from model.language.tla.naming import Names
from model.language.tla.places import shape_type
from model.language.tla.prepared import never
from model.language.tla.updates import Updates

PRELUDE = {
    "First": """\
First(S, P(_), d) ==
  IF \\E x \\in S : P(x) THEN CHOOSE x \\in S : P(x) /\\ \\A y \\in S : P(y) => x <= y ELSE d""",
    "Last": """\
Last(S, P(_), d) ==
  IF \\E x \\in S : P(x) THEN CHOOSE x \\in S : P(x) /\\ \\A y \\in S : P(y) => y <= x ELSE d""",
}


def branches(n: t.Node) -> bool:
    """Returns True if TLC would split the guard `n` into several next states, as it does for `\\/`
    and `\\E`.
    """
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


class Module(Definitions):
    @classmethod
    def of(cls, spec: Spec, scope: Scope | None) -> Module:
        """Returns the writer of the spec's TLA+ module. If `scope` is None, the module has the
        spec's own scope.
        """
        if scope is not None:
            return cls(spec, scope)
        if "_module" not in spec.__dict__:
            spec.__dict__["_module"] = cls(spec)
        made: Module = spec.__dict__["_module"]
        return made

    # ---- the module

    def text(self) -> str:
        spec = self.spec
        body = [
            "TypeOK ==\n"
            + _listed(
                [f"{n} \\in {shape_type(s, self.records())}" for n, s in spec.shapes.items()]
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
        operators = self.operators()
        variables = list(spec.shapes)
        parts = [
            *self._opening(),
            text(row("VARIABLES ", filled("", variables, ""))),
            text(filled("vars == <<", variables, ">>")),
            *(PRELUDE[word] for word in PRELUDE if word in self.writer.words),
            *self.record_sets(),
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
        """Yields the lines of the header, each between `opening` and `closing`. The header contains
        the spec's summary, its name, the values of its constants, and the command that exports it.
        """
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
                    plain(words), 86, initial_indent=first, subsequent_indent=" " * len(first)
                )
                for line in lines or [""]:
                    yield f"{opening} {line:86} {closing}".rstrip()

    # ---- actions

    def _init(self) -> str:
        self.start()
        init, self.writer.initially = self.initial, True
        names = self.writer.named(init.params, {})
        lines = self._guards(init, names) + [
            becomes(n, "=", Updates(self.writer).value(n, _of(n, init.writes), names))
            for n in self.spec.shapes
        ]
        self.writer.initially = False
        body = bullets("/\\", lines)
        if init.params:
            head = self._quantifier("E", init.params, names)
            body = row(head, Nest(2, row(End(), Align(body))))
        return text(row("Init ==", Nest(2, row(End(), body))))

    def _action(self, action: Action) -> str:
        self.start()
        names = self.writer.named(action.params, {})
        folded = replace(
            action,
            writes=[self._folded_write(w) for w in action.writes],
        )
        roots = [self.folding.folded(g.formula) for g in action.guards]
        roots += [x for w in folded.writes for x in (*w.keys, w.condition, w.value)]
        known = {self.folding.folded(n): name for n, name in action.names.items()}
        lets = self.lets(roots, known, action.params, names)
        lines = self._guards(action, names)
        changed = [n for n in self.spec.shapes if _of(n, action.writes)]
        lines += [
            becomes(f"{n}'", "=", Updates(self.writer).value(n, _of(n, folded.writes), names))
            for n in changed
        ]
        same = [n for n in self.spec.shapes if n not in changed]
        lines += [filled("UNCHANGED <<", same, ">>")] if same else []
        body = bullets("/\\", lines) if lines else "TRUE"
        made = self.definition(self._call(action, names), lets, body)
        if not lets and "\n" not in made:
            made = text(row(f"{self._call(action, names)} ==", Nest(2, row(End(), body))))
        return self.with_remark(action.summary, made)

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
        # A conjunction stays whole if one operator call replaces several of its conjuncts.
        folded = self.folding.folded(n)
        if isinstance(n, t.And) and isinstance(folded, t.And) and len(folded.of) == len(n.of):
            for x in n.of:
                yield from self._conjuncts(x)
        else:
            yield n

    def _quantifier(self, letter: str, binders: Sequence[t.Local], names: Names) -> Doc:
        ranges = [f"{names[b.uid]} \\in {self.writer.set_of(b.sort)}" for b in binders]
        return listed(f"\\{letter} ", ranges, " :")

    def _call(self, action: Action, names: Names) -> str:
        arguments = ", ".join(names[p.uid] for p in action.params)
        return f"{camel(action.name)}({arguments})" if arguments else camel(action.name)

    def _quantified_call(self, action: Action, letter: str, before: str, after: str) -> Doc:
        self.start()
        names = self.writer.named(action.params, {})
        call = f"{before}{self._call(action, names)}{after}"
        if not action.params:
            return call
        head = self._quantifier(letter, action.params, names)
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
        return self.with_remark(claim.summary, self._formula(camel(claim.name), claim.formula))

    def _formula(self, head: str, formula: t.Node) -> str:
        self.start()
        body = self.folding.folded(formula)
        lets = self.lets([body], {}, (), {})
        return self.definition(head, lets, self.writer.doc(body, {}))

    def _steps(self, claim: Claim) -> str:
        self.start()
        body = row("[][", Align(self.writer.doc(self.folding.folded(claim.formula), {})), "]_vars")
        return self.with_remark(claim.summary, self.definition(camel(claim.name), [], body))

    def _liveness(self, claim: Liveness) -> str:
        self.start()
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
            head = self._quantifier("A", claim.params, names)
            body = row(head, Nest(2, row(End(), Align(body))))
        made = self.definition(camel(claim.name), [], group(Align(body)))
        return self.with_remark(claim.summary, made)

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
