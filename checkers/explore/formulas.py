"""Reads formulas of the spec language from text, for example to search for a state.

    exists(replica[b].leader == b for b in Replica) & (next_id > 1)

The text is an expression with the same syntax as in a spec: the same functions, types, variables
and predicates. The prefix `s.` of the state is optional: `log[b0]` means `s.log[b0]`. Elements have
the names that reports print, such as `b0`.

The text may come from a web page, so it must not run other code. It is evaluated only if all its
parts belong to the spec language, and if all its attributes are variables, fields or predicates of
the spec.
"""

from __future__ import annotations

import ast
import inspect
import re
import traceback
from collections.abc import Iterator, Mapping
from typing import Any, Final

from model import language
from model.faults import InputFault, nearest
from model.language import Bool, Record, Spec, SpecError
from model.language import terms as t
from model.language.expressions import Term, wrap
from model.language.precedence import check_expression
from model.language.scope import Ranges
from model.language.spec import title_of
from model.language.state_variables import LeafShape, MapShape, RecordShape, Shape
from model.language.values import Writer

PLACE: Final = "<formula>"
LONGEST: Final = 2_000  # characters: the parser of Python nests
FUNCTIONS: Final = (
    "all_of", "any_of", "count", "everything", "exists", "false", "first", "forall",
    "greatest_of", "iff", "implies", "ite", "last", "least_of", "nothing", "true",
)  # fmt: skip
ALLOWED: Final = (
    ast.Expression, ast.Compare, ast.cmpop, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.boolop,
    ast.IfExp, ast.BitAnd, ast.BitOr, ast.Add, ast.Sub, ast.Invert, ast.USub, ast.Not, ast.Call,
    ast.keyword, ast.Attribute, ast.Subscript, ast.Name, ast.Constant, ast.GeneratorExp,
    ast.comprehension, ast.Set, ast.expr_context,
)  # fmt: skip


class FormulaFault(InputFault):
    """Raised for a mistake in the text of a formula. The mistake is between the columns `start`
    and `end`, counted from 0.
    """

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.start, self.end = start, end


def formula(spec: Spec, ranges: Ranges, text: str) -> t.Node:
    """Returns the formula that a text describes, as a term. Raises FormulaFault with the
    position of the mistake if the text is not a formula of the spec.
    """
    whole = " ".join(text.split())
    if not whole:
        raise FormulaFault("the formula is empty: write one such as next_id > 0", 0, 0)
    if len(whole) > LONGEST:
        raise FormulaFault(f"the formula has more than {LONGEST:,} characters", LONGEST, len(whole))
    tree = _parsed(whole)
    names = _names(spec, ranges)
    _check(spec, tree, names)
    check_expression(tree, whole, _fault)
    try:
        made = eval(compile(tree, PLACE, "eval"), {"__builtins__": {}, **names})
    except SpecError as error:
        raise _located(error, whole, str(error)) from error
    except (TypeError, AttributeError, ValueError, RecursionError) as error:
        mistake = "this part has the wrong kind of value; a map needs an element such as b0 in []"
        raise _located(error, whole, mistake) from error
    if not isinstance(made, Bool):
        kind = f"a term of {type(made).__name__}" if isinstance(made, Term) else "no formula"
        raise FormulaFault(f"this is {kind}; write a formula, such as a comparison", 0, len(whole))
    return made.node


def _parsed(whole: str) -> ast.Expression:
    try:
        return ast.parse(whole, PLACE, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        offset = getattr(error, "offset", None) or len(whole) + 1
        start = min(offset, len(whole)) - 1
        message = getattr(error, "msg", str(error))
        raise FormulaFault(f"not an expression: {message}", start, start + 1) from error


# ---- what may be written


def _names(spec: Spec, ranges: Ranges) -> dict[str, Any]:
    writer = Writer(spec, ranges)
    elements = {
        writer.value(k, cls.info): wrap(cls, t.Const(k, cls.info))
        for name, cls in spec.sorts.items()
        if cls.flavour in ("sort", "ordered") and writer.prefix(name)
        for k in ranges.get(name, ())
    }
    labels = {
        label: wrap(cls, t.Const(k, cls.info))
        for cls in spec.sorts.values()
        for k, label in enumerate(getattr(cls, "labels", ()))
    }
    state = {
        name: getattr(spec, name) for name in (*spec.shapes, *spec.constants, *_predicates(spec))
    }
    functions = {name: getattr(language, name) for name in FUNCTIONS}
    return {**elements, **labels, **state, **spec.sorts, **functions, "s": spec}


def _predicates(spec: Spec) -> Iterator[str]:
    # The methods of the spec that take part in formulas: no actions, no claims about behaviours.
    for cls in type(spec).__mro__:
        if issubclass(cls, Spec) and cls is not Spec:
            for name, method in vars(cls).items():
                role = getattr(method, "role", "predicate")
                known = role in ("predicate", "invariant", "lemma", "witness")
                usable = known and name not in ("init", "scope") and not name.startswith("_")
                if inspect.isfunction(method) and usable:
                    yield name


def _attributes(spec: Spec) -> set[str]:
    records = {record for shape in spec.shapes.values() for record in _records(shape)}
    of_records = {
        name
        for record in records
        for cls in record.__mro__
        if issubclass(cls, Record) and cls is not Record
        for name in (*vars(cls), *cls.fields())
        if not name.startswith("_")
    }
    return {
        *spec.shapes, *spec.constants, *_predicates(spec), *of_records, "is_next_after", "least"
    }  # fmt: skip


def _records(shape: Shape) -> Iterator[type[Record]]:
    match shape:
        case LeafShape():
            return
        case MapShape(value=value):
            yield from _records(value)
        case RecordShape(record=record):
            yield record
            for inner in record.fields().values():
                yield from _records(inner)


def _check(spec: Spec, tree: ast.Expression, names: Mapping[str, Any]) -> None:
    bound = {
        x.id for x in ast.walk(tree) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)
    }
    attributes = _attributes(spec)
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name not in names and name not in bound:
                raise _fault(node, f"no name {name!r} in {title_of(spec)}; the nearest: "
                             f"{nearest(name, names)}")  # fmt: skip
            case ast.Attribute(attr=name) if name not in attributes:
                raise _fault(node, f"no variable, field or predicate {name!r} in {title_of(spec)};"
                             f" the nearest: {nearest(name, attributes)}")  # fmt: skip
            case ast.Constant(value=value) if not isinstance(value, int):
                raise _fault(node, f"{value!r} is no value of a spec; write a number or an element")
            case ast.Name(id=name) if isinstance(node.ctx, ast.Store) and name in names:
                raise _fault(node, f"{name!r} is a name of the spec; use another for the element")
            case _ if not isinstance(node, ALLOWED):
                what = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).lower()
                raise _fault(node, f"{what}: not part of the spec language")
            case _:
                pass


# ---- where a mistake is


def _fault(node: ast.AST, message: str) -> FormulaFault:
    start = getattr(node, "col_offset", 0)
    return FormulaFault(message, start, getattr(node, "end_col_offset", start + 1) or start + 1)


def _located(error: Exception, whole: str, mistake: str) -> FormulaFault:
    start, end = 0, len(whole)
    found = error.__traceback__
    while found is not None:
        if found.tb_frame.f_code.co_filename == PLACE:
            places = list(found.tb_frame.f_code.co_positions())
            _, _, first, last = places[found.tb_lasti // 2]
            start, end = (first or 0), (last or len(whole))
        found = found.tb_next
    traceback.clear_frames(error.__traceback__)  # ends the loops over sorts that the mistake left
    message = "; ".join(line.strip() for line in mistake.splitlines())
    return FormulaFault(message, start, end)
