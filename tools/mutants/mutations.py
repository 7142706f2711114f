"""Lists the mutants of a Python source. A mutant differs from the source at exactly one point.

Each row has the name of an operator and its changes. Two neighbours such as `< <=` replace each
other. `->` separates a text and its replacement:

    comparison   <  <=    >  >=    ==  !=    is  is not    in  not in
    connective   and  or           &  |             +  -
    negation     `not x`, `~x` -> `x`;  the condition x of `if x` and `a if x else b` -> `not x`
    quantifier   all_of  any_of    forall  exists    any  all    min  max
    conjunct     when(a, b) -> when(a); the same for all_of and any_of
    statement    an assignment to a field or an item, a call, `continue` -> pass
    number       n -> n + 1
    truth        True  False       true  false
    side         "left"  "right": the argument of searchsorted
    member       an enum member -> the next one that the file names

A new name must be a builtin, or the file must import it. Docstrings, annotations, decorators,
assertions, imports, error texts, type aliases and the argument `strict` are never changed. A mutant
does not change the line numbers of its source.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_COMPARISONS: Final[Mapping[type[ast.cmpop], tuple[str, str]]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_CONNECTIVES: Final[Mapping[type[ast.boolop | ast.operator], tuple[str, str]]] = {
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
}
_PAIRS: Final = (("all_of", "any_of"), ("forall", "exists"), ("any", "all"), ("min", "max"))
_QUANTIFIERS: Final = {name: other for a, b in _PAIRS for name, other in ((a, b), (b, a))}
_BUILTIN: Final = frozenset({"any", "all", "min", "max", "True", "False"})
_CONJUNCTIONS: Final = frozenset({"when", "all_of", "any_of"})
_TRUTHS: Final = {"True": "False", "False": "True", "true": "false", "false": "true"}
_SIDES: Final = {"left": "right", "right": "left"}
_LEFT_OUT: Final = (ast.Assert, ast.Import, ast.ImportFrom, ast.JoinedStr, ast.Raise)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A change of a source file: the text `before` at the byte `start` becomes `after`."""

    file: str
    line: int
    scope: str  # the function or class around the point; empty at the top of the file
    operator: str
    before: str
    after: str
    start: int
    nth: int  # among the same changes in the same scope

    @property
    def id(self) -> str:
        """The id of the mutant, which does not depend on its line number."""
        text = "\0".join((self.scope, self.operator, self.before, self.after, str(self.nth)))
        return f"{self.file}#{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def applied(self, source: bytes) -> bytes:
        before = self.before.encode()
        end = self.start + len(before)
        if source[self.start : end] != before:
            raise ValueError(f"{self.file}:{self.line}: {self.before!r} is not there any more")
        return source[: self.start] + self.after.encode() + source[end:]


def mutants_of(file: str, source: bytes) -> tuple[Mutant, ...]:
    """Returns the mutants of a source, in the order of their positions."""
    tree = ast.parse(source)
    found: list[Mutant] = []
    seen: dict[tuple[str, ...], int] = {}
    changes = sorted(set(_Walk(source, tree).of(tree, ())), key=lambda it: (it.start, it.operator))
    for change in changes:
        text = source[change.start : change.end].decode()
        place = (change.scope, change.operator, text, change.after)
        one = Mutant(
            file=file,
            line=source[: change.start].count(b"\n") + 1,
            scope=change.scope,
            operator=change.operator,
            before=text,
            after=change.after + "\n" * (text.count("\n") - change.after.count("\n")),
            start=change.start,
            nth=seen.get(place, 0),
        )
        seen[place] = one.nth + 1
        found.append(one)
    return tuple(found)


def _may_go(statement: ast.stmt) -> bool:
    """Returns True if the statement may be deleted: a call, `continue`, `x += 1`, `a.b = c` or
    `a[b] = c`.
    """
    match statement:
        case ast.Expr(value=ast.Call()) | ast.Continue() | ast.AugAssign():
            return True
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return True
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Change:
    scope: str
    operator: str
    start: int
    end: int
    after: str


class _Walk:
    def __init__(self, source: bytes, tree: ast.AST) -> None:
        self.source = source
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        members: dict[str, set[str]] = {}
        self.names = {*_BUILTIN}
        for node in ast.walk(tree):
            match node:
                case ast.ImportFrom():
                    self.names.update(one.name for one in node.names)
                case ast.Attribute(value=ast.Name(id=name), attr=member) if member.isupper():
                    members.setdefault(name, set()).add(member)
                case _:
                    pass
        self.members = {name: sorted(some) for name, some in members.items()}

    def of(self, node: ast.AST, scope: tuple[str, ...]) -> Iterator[_Change]:
        if isinstance(node, _LEFT_OUT) or (isinstance(node, ast.keyword) and node.arg == "strict"):
            return
        where = ".".join(scope)
        for operator, start, end, after in self._at(node, is_inside=bool(scope)):
            yield _Change(where, operator, start, end, after)
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                scope = (*scope, node.name)
                below: list[ast.AST] = [*node.body]
                if not isinstance(node, ast.ClassDef):
                    below += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            case ast.AnnAssign():
                below = [node.value] if node.value else []
            case _:
                below = [*ast.iter_child_nodes(node)]
        for child in below:
            yield from self.of(child, scope)

    def _at(self, node: ast.AST, *, is_inside: bool) -> Iterator[tuple[str, int, int, str]]:
        match node:
            case ast.Compare():
                operands = [node.left, *node.comparators]
                for n, operator in enumerate(node.ops):
                    swap = _COMPARISONS[type(operator)]
                    yield from self._between("comparison", operands[n], operands[n + 1], swap)
            case ast.BoolOp():
                for left, right in zip(node.values, node.values[1:], strict=False):
                    yield from self._between("connective", left, right, _CONNECTIVES[type(node.op)])
            case ast.BinOp() if type(node.op) in _CONNECTIVES and is_inside:
                swap = _CONNECTIVES[type(node.op)]
                yield from self._between("connective", node.left, node.right, swap)
            case ast.UnaryOp(op=ast.Not() | ast.Invert()):
                yield "negation", *self._span(node), f"({self._text(node.operand)})"
            case ast.If() | ast.IfExp():
                yield "negation", *self._span(node.test), f"(not ({self._text(node.test)}))"
            case ast.Call():
                yield from self._call(node)
            case ast.stmt() if _may_go(node):
                yield "statement", *self._span(node), "pass"
            case ast.Constant() | ast.Name() | ast.Attribute():
                yield from self._value(node)
            case _:
                pass

    def _call(self, node: ast.Call) -> Iterator[tuple[str, int, int, str]]:
        name = self._text(node.func)
        if _QUANTIFIERS.get(name) in self.names:
            yield "quantifier", *self._span(node.func), _QUANTIFIERS[name]
        if name in _CONJUNCTIONS and len(node.args) > 1:
            yield from self._without_one(node.args)

    def _value(
        self, node: ast.Constant | ast.Name | ast.Attribute
    ) -> Iterator[tuple[str, int, int, str]]:
        match node:
            case ast.Constant(value=bool()) | ast.Name(id="true" | "false"):
                if (other := _TRUTHS[self._text(node)]) in self.names:
                    yield "truth", *self._span(node), other
            case ast.Constant(value=int(number)):
                yield "number", *self._span(node), str(number + 1)
            case ast.Constant(value="left" | "right" as side):
                yield "side", *self._span(node), f'"{_SIDES[side]}"'
            case ast.Attribute(value=ast.Name(id=name), attr=member):
                known = self.members.get(name, [])
                if member in known and len(known) > 1:
                    other = known[(known.index(member) + 1) % len(known)]
                    yield "member", *self._span(node), f"{name}.{other}"
            case _:
                pass

    def _between(
        self, operator: str, left: ast.expr, right: ast.expr, swap: tuple[str, str]
    ) -> Iterator[tuple[str, int, int, str]]:
        begin, end = self._span(left)[1], self._span(right)[0]
        at = self.source[begin:end].find(swap[0].encode())
        if at >= 0:
            yield operator, begin + at, begin + at + len(swap[0]), swap[1]

    def _without_one(self, arguments: list[ast.expr]) -> Iterator[tuple[str, int, int, str]]:
        for n, one in enumerate(arguments):
            if n + 1 < len(arguments):
                yield "conjunct", self._span(one)[0], self._span(arguments[n + 1])[0], ""
            else:
                yield "conjunct", self._span(arguments[n - 1])[1], self._span(one)[1], ""

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self.lines[node.lineno - 1] + node.col_offset
        return start, self.lines[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr) -> str:
        start, end = self._span(node)
        return self.source[start:end].decode()
