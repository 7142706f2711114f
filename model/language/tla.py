"""Translates a spec to TLA+: a module for TLC and Apalache, and a configuration file for TLC.

Every word of the language has a counterpart in TLA+. An unordered sort is a constant: the
configuration makes it a set of model values. `Nothing` is one model value. Other sorts are ranges
of integers. A map of two keys is a function whose values are functions. An assignment is an EXCEPT.
If an action assigns a variable in a `for`, its assignments to this variable are one function
instead; where two of them write the same cell, the function has the value of the later one.

In an action, TLC takes a disjunction or `\\E` for a choice of next states and evaluates every
branch: in `(end = 0) \\/ log[end - 1] ...` it reads `log[-1]`. Such a guard is written
`guard = TRUE`, which TLC evaluates from left to right, as the engines do.

Simplified: TLC detects an undefined term only where it applies a function outside its domain. A
value that is assigned outside its sort violates `TypeOK`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from model.language import terms as t
from model.language.actions import Action, Claim, Liveness
from model.language.scope import Ranges, Scope, ranges_of
from model.language.spec import Spec

Names = Mapping[int, str]  # uid of a parameter or bound variable -> its name in the module

RESERVED = frozenset(
    re.findall(
        r"\w+",
        """
        ASSUME AXIOM BOOLEAN CASE CHOOSE CONSTANT DOMAIN ELSE ENABLED EXCEPT EXTENDS FALSE IF IN
        INSTANCE LAMBDA LET LOCAL MODULE OTHER STRING SUBSET THEN THEOREM TRUE UNCHANGED UNION
        VARIABLE WITH Init Next Spec TypeOK vars Nothing Least First Last Cardinality Int Nat
        IsFiniteSet
        """,
    )
)  # names with a meaning of their own in a module

AND, OR = " /\\ ", " \\/ "

PRELUDE = """\
Least(S) == CHOOSE x \\in S : \\A y \\in S : x <= y
First(S, P(_), d) ==
  IF \\E x \\in S : P(x) THEN CHOOSE x \\in S : P(x) /\\ \\A y \\in S : P(y) => x <= y ELSE d
Last(S, P(_), d) ==
  IF \\E x \\in S : P(x) THEN CHOOSE x \\in S : P(x) /\\ \\A y \\in S : P(y) => y <= x ELSE d"""


def module(spec: Spec, scope: Scope | None = None) -> str:
    """Returns the text of the TLA+ module, by default at the spec's own scope."""
    return _Module(spec, ranges_of(spec.scope() if scope is None else scope)).text()


def configuration(
    spec: Spec, scope: Scope | None = None, names: Sequence[str] | None = None
) -> str:
    """Returns the configuration for TLC, by default for all properties at the spec's scope."""
    ranges = ranges_of(spec.scope() if scope is None else scope)
    lines = ["SPECIFICATION Spec", "CHECK_DEADLOCK FALSE", "", "CONSTANTS"]
    for name in _sorts(spec, "sort"):
        elements = ", ".join(element(name, k) for k in ranges[name])
        lines.append(f"  {name} = {{{elements}}}")
    lines += ["  Nothing = Nothing", "", "INVARIANTS", "  TypeOK"]
    chosen = [c for c in spec.properties if names is None or c.name in names]
    lines += [f"  {_camel(c.name)}" for c in chosen if c in spec.claims]
    temporal = [c for c in chosen if c not in spec.claims]
    lines += ["", "PROPERTIES", *(f"  {_camel(c.name)}" for c in temporal)] if temporal else []
    return "\n".join(lines) + "\n"


def _sorts(spec: Spec, *flavours: t.Flavour) -> list[str]:
    found: dict[str, t.Flavour] = {name: sort.flavour for name, sort in spec.sorts.items()}
    for n in (n for root in _roots(spec) for n in t.walk(root)):
        inside = n.binders if isinstance(n, t.Forall | t.Exists | t.Count) else ()
        for x in (n, *inside, *([n.binder] if isinstance(n, t.Extreme) else [])):
            found.setdefault(x.sort.name, x.sort.flavour)
    special = ("Bool", "Number", "Nothing")
    return [name for name, flavour in found.items() if flavour in flavours and name not in special]


def _roots(spec: Spec) -> Iterator[t.Node]:
    for action in (spec.initial, *spec.actions):
        yield from (g.formula for g in action.guards)
        for w in action.writes:
            yield from (*w.keys, w.condition, w.value, *w.binders)
    yield from (c.formula for c in (*spec.claims, *spec.action_properties, *spec.witnesses))
    for c in spec.liveness_properties:
        yield from (c.premise, c.goal)


def _camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def element(sort: str, number: int) -> str:
    """Returns the name of the model value for an element, for example `replica_0`."""
    return f"{sort.lower()}_{number}"


def flat(variable: str) -> str:
    """Returns the TLA+ identifier of a variable: `log.end_offset` becomes `log_end_offset`."""
    return variable.replace(".", "_")


def branches(n: t.Node) -> bool:
    """True if TLC would explore the formula as several next states, were it a bare conjunct."""
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


@dataclass
class _Module:
    spec: Spec
    ranges: Ranges
    initially: bool = False  # then variables read the blank state
    taken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.taken = {flat(v.name) for v in self.spec.variables}
        self.taken |= set(_sorts(self.spec, "sort", "ordered", "int"))
        self.taken |= RESERVED
        self.taken |= {_camel(x.name) for x in (*self.spec.actions, *self.spec.properties)}

    # ---- the module

    def text(self) -> str:
        spec = self.spec
        name = type(spec).__name__
        variables = [flat(v.name) for v in spec.variables]
        parts = [
            f"---- MODULE {name} ----",
            *self._remark((type(spec).__doc__ or "").strip().split("\n\n")[0]),
            "EXTENDS Integers, FiniteSets",
            f"CONSTANTS {', '.join([*_sorts(spec, 'sort'), 'Nothing'])}",
            *map(self._range, _sorts(spec, "ordered", "int")),
            f"VARIABLES {', '.join(variables)}",
            f"vars == <<{', '.join(variables)}>>",
            PRELUDE,
            "TypeOK ==\n" + "\n".join(f"  /\\ {self._type(v)}" for v in spec.variables),
            self._init(),
            *(self._action(a) for a in spec.actions),
            "Next ==\n" + "\n".join(f"  \\/ {self._called(a)}" for a in spec.actions),
            "Spec ==\n" + "\n".join(f"  /\\ {x}" for x in self._behaviours()),
            *(self._claim(c) for c in spec.claims),
            *(self._steps(c) for c in spec.action_properties),
            *(self._liveness(c) for c in spec.liveness_properties),
            *(self._claim(c) for c in spec.witnesses),
            "====",
        ]
        return "\n\n".join(parts) + "\n"

    @staticmethod
    def _remark(summary: str) -> list[str]:
        words = " ".join(summary.split()).replace("(*", "( *").replace("*)", "* )")
        return [f"(* {words} *)"] if words else []

    def _with_remark(self, of: Action | Claim | Liveness, definition: str) -> str:
        return "\n".join([*self._remark(of.summary), definition])

    def _range(self, sort: str) -> str:
        elements = self.ranges[sort]
        return f"{sort} == {elements.start}..{elements.stop - 1}"

    def _type(self, v: t.Variable) -> str:
        values = "BOOLEAN" if v.value.flavour == "bool" else v.value.name
        of = f"({values} \\union {{Nothing}})" if v.value.optional else values
        for key in reversed(v.keys):
            of = f"[{self._set(key)} -> {of}]"
        return f"{flat(v.name)} \\in {of}"

    def _set(self, sort: t.SortInfo) -> str:
        return "BOOLEAN" if sort.flavour == "bool" else sort.name

    def _least(self, sort: t.SortInfo) -> str:
        if sort.optional:
            return "Nothing"
        if sort.flavour == "bool":
            return "FALSE"
        if sort.flavour == "sort":
            return f"(CHOOSE x \\in {sort.name} : TRUE)"
        return f"Least({sort.name})"

    # ---- actions

    def _init(self) -> str:
        init = self.spec.initial
        self.initially = True
        names = self._named(init.params, {})
        lines = [self._guard(g.formula, names) for g in init.guards]
        lines += [f"{flat(v.name)} = {self._cells(v, init, names)}" for v in self.spec.variables]
        self.initially = False
        opened = f"{self._ranges(init.params, names, 'E')}" if init.params else ""
        return "Init ==\n" + (f"  {opened}\n" if opened else "") + self._list(lines)

    def _action(self, action: Action) -> str:
        names = self._named(action.params, {})
        head = _camel(action.name)
        if action.params:
            head += f"({', '.join(names[p.uid] for p in action.params)})"
        lines = [self._guard(g.formula, names) for g in action.guards]
        lines += [
            f"{flat(v.name)}' = {self._assigned(v, action, names)}"
            for v in self.spec.variables
            if v.name in action.changes
        ]
        same = [flat(v.name) for v in self.spec.variables if v.name not in action.changes]
        lines += [f"UNCHANGED <<{', '.join(same)}>>"] if same else []
        return self._with_remark(action, f"{head} ==\n{self._list(lines)}")

    def _guard(self, n: t.Node, names: Names) -> str:
        shown = self.show(n, names)
        return f"({shown} = TRUE)" if branches(n) else shown

    def _list(self, lines: Sequence[str]) -> str:
        return "\n".join(f"  /\\ {line}" for line in lines) or "  TRUE"

    def _assigned(self, v: t.Variable, action: Action, names: Names) -> str:
        writes = [w for w in action.writes if w.variable == v]
        if any(w.binders for w in writes):
            return self._cells(v, action, names)
        if not v.keys:
            return self.show(writes[-1].value, names)
        cells = [
            f"!{''.join(f'[{self.show(k, names)}]' for k in w.keys)} = {self.show(w.value, names)}"
            for w in writes
        ]
        return f"[{flat(v.name)} EXCEPT {', '.join(cells)}]"

    def _cells(self, v: t.Variable, action: Action, names: Names) -> str:
        keys = tuple(t.Local(k, "k") for k in v.keys)
        all_names = self._named(keys, names)
        value = self._least(v.value) if self.initially else self._read(v.name, keys, all_names)
        for w in action.writes:
            if w.variable == v:
                value = self._reached(w, keys, all_names, value)
        for key in reversed(keys):
            value = f"[{all_names[key.uid]} \\in {self._set(key.sort)} |-> {value}]"
        return value

    def _reached(self, w: t.Write, keys: Sequence[t.Local], names: Names, otherwise: str) -> str:
        """Returns the value of a cell after an assignment, as `IF test THEN value ELSE otherwise`.

        The test is true for the cells that the assignment writes. For any other cell, the text
        `otherwise` is the value without this assignment. If the assignment writes every cell, the
        result is only the new value.
        """
        loops = {b.uid for b in w.binders}
        bound = dict(names)
        tests: list[str] = []
        for written, key in zip(w.keys, keys, strict=True):
            if isinstance(written, t.Local) and written.uid in loops and written.uid not in bound:
                bound[written.uid] = names[key.uid]
            else:
                tests.append(f"{names[key.uid]} = {self.show(written, bound)}")
        if not isinstance(w.condition, t.Const):
            tests.append(self.show(w.condition, bound))
        value = self.show(w.value, bound)
        return f"(IF {AND.join(tests)} THEN {value} ELSE {otherwise})" if tests else value

    def _called(self, action: Action) -> str:
        names = self._named(action.params, {})
        called = self._call(action, names)
        return f"{self._ranges(action.params, names, 'E')} {called}" if action.params else called

    def _call(self, action: Action, names: Names) -> str:
        arguments = ", ".join(names[p.uid] for p in action.params)
        return f"{_camel(action.name)}({arguments})" if arguments else _camel(action.name)

    def _behaviours(self) -> Iterator[str]:
        yield "Init"
        yield "[][Next]_vars"
        for action in self.spec.actions:
            if action.fair is not None:
                names = self._named(action.params, {})
                letter = "S" if action.fair == "strong" else "W"
                fair = f"{letter}F_vars({self._call(action, names)})"
                yield f"{self._ranges(action.params, names, 'A')} {fair}" if action.params else fair

    # ---- claims

    def _claim(self, claim: Claim) -> str:
        return self._with_remark(
            claim, f"{_camel(claim.name)} ==\n  {self.show(claim.formula, {})}"
        )

    def _steps(self, claim: Claim) -> str:
        body = self.show(claim.formula, {})
        return self._with_remark(claim, f"{_camel(claim.name)} ==\n  [][{body}]_vars")

    def _liveness(self, claim: Liveness) -> str:
        names = self._named(claim.params, {})
        goal = self.show(claim.goal, names)
        match claim.kind:
            case "eventually":
                body = f"<>({goal})"
            case "eventually always":
                body = f"<>[]({goal})"
            case "leads to":
                always = isinstance(claim.premise, t.Const)
                premise = self.show(claim.premise, names)
                body = f"[]<>({goal})" if always else f"({premise}) ~> ({goal})"
        opened = f"{self._ranges(claim.params, names, 'A')} " if claim.params else ""
        return self._with_remark(claim, f"{_camel(claim.name)} ==\n  {opened}{body}")

    # ---- names

    def _named(self, binders: Iterable[t.Local], outer: Names) -> dict[int, str]:
        names = dict(outer)
        for b in binders:
            base = re.sub(r"\W", "_", b.name)
            taken = self.taken | set(names.values())
            tried = (base if k == 1 else f"{base}_{k}" for k in range(1, 1000))
            names[b.uid] = next(x for x in tried if x not in taken)
        return names

    def _ranges(self, binders: Sequence[t.Local], names: Names, quantifier: str) -> str:
        each = ", ".join(f"{names[b.uid]} \\in {self._set(b.sort)}" for b in binders)
        return f"\\{quantifier} {each} :"

    # ---- terms

    def _read(self, variable: str, keys: Sequence[t.Node], names: Names) -> str:
        return flat(variable) + "".join(f"[{self.show(k, names)}]" for k in keys)

    def show(self, n: t.Node, names: Names) -> str:  # noqa: C901 - one case for each word
        """Returns the term as TLA+ text; compound terms are in parentheses."""

        def text(x: t.Node) -> str:
            return self.show(x, names)

        match n:
            case t.Const():
                return str(bool(n.value)).upper() if n.sort.flavour == "bool" else str(n.value)
            case t.Least():
                return self._least(n.sort)
            case t.Local():
                return names[n.uid]
            case t.Get():
                return (
                    self._least(n.sort)
                    if self.initially
                    else self._read(n.variable.name, n.keys, names)
                )
            case t.Some():
                return text(n.of)
            case t.Plus():
                return f"({text(n.of)} {'+' if n.delta >= 0 else '-'} {abs(n.delta)})"
            case t.Ite():
                return f"(IF {text(n.test)} THEN {text(n.then)} ELSE {text(n.other)})"
            case t.Not(of=t.Eq() as e):
                return f"({text(e.left)} # {text(e.right)})"
            case t.Not():
                return f"~{text(n.of)}"
            case t.And():
                return f"({AND.join(map(text, n.of))})" if n.of else "TRUE"
            case t.Or():
                return f"({OR.join(map(text, n.of))})" if n.of else "FALSE"
            case t.Implies():
                return f"({text(n.left)} => {text(n.right)})"
            case t.Eq():
                return f"({text(n.left)} = {text(n.right)})"
            case t.Le():
                return f"({text(n.left)} <= {text(n.right)})"
            case t.Lt():
                return f"({text(n.left)} < {text(n.right)})"
            case t.Succ():
                return f"({text(n.right)} = {text(n.left)} + 1)"
            case t.Forall() | t.Exists():
                inner = self._named(n.binders, names)
                letter = "A" if isinstance(n, t.Forall) else "E"
                return f"({self._ranges(n.binders, inner, letter)} {self.show(n.body, inner)})"
            case t.Count():
                return self._count(n, names)
            case t.Extreme():
                inner = self._named((n.binder,), names)
                test = f"LAMBDA {inner[n.binder.uid]} : {self.show(n.body, inner)}"
                word = "Last" if n.last else "First"
                return f"{word}({self._set(n.binder.sort)}, {test}, {text(n.default)})"
            case _:
                assert_never(n)

    def _count(self, n: t.Count, names: Names) -> str:
        inner = self._named(n.binders, names)
        each = [f"{inner[b.uid]} \\in {self._set(b.sort)}" for b in n.binders]
        body = self.show(n.body, inner)
        if len(each) == 1:
            return f"Cardinality({{{each[0]} : {body}}})"
        whole = t.Local(t.SortInfo("Tuple", "sort"), "tuple")
        named = self._named((whole,), inner)[whole.uid]
        sets = " \\X ".join(self._set(b.sort) for b in n.binders)
        parts = {b.uid: f"{named}[{k}]" for k, b in enumerate(n.binders, start=1)}
        body = self.show(n.body, {**names, **parts})
        return f"Cardinality({{{named} \\in {sets} : {body}}})"
