"""Checks the annotations of a spec and of its records. An error names the line of the annotation.

An annotation declares a state variable, a field of a record, or a constant. Any other attribute
must be annotated with `ClassVar`.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import typing
from collections.abc import Mapping
from typing import Any, ClassVar

from model.language.expressions import SpecError
from model.language.state_variables import MapShape, Record, RecordShape, Shape, shape_of

_checked: set[type] = set()


def check_annotations(cls: type, hints: Mapping[str, Any]) -> None:
    """Raises SpecError if a type annotation of the class, or of a record that the class uses, is
    not allowed. `hints` are the type hints of the class.
    """
    if cls in _checked:
        return
    is_record = issubclass(cls, Record)
    for name in vars(cls).get("__annotations__", {}):
        hint = hints[name]
        bare = typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint
        if ClassVar in (hint, typing.get_origin(hint)):
            continue
        if bare in (int, bool) and not is_record:
            if not hasattr(cls, name):
                missing = (
                    f"the constant {name} has no default\n  write {name}: {bare.__name__} = ..."
                )
                raise SpecError.at(cls.__name__, line_of(cls, name), missing)
            continue
        try:
            shape = shape_of(hint)
            if shape is None:
                raise SpecError(_unusable(name, hint, is_record=is_record))
        except SpecError as error:
            raise SpecError.at(cls.__name__, line_of(cls, name), str(error)) from error
        for record in _records(shape):
            check_annotations(record, typing.get_type_hints(record, include_extras=True))
    _checked.add(cls)


def _unusable(name: str, hint: object, *, is_record: bool) -> str:
    shown = hint.__name__ if isinstance(hint, type) else re.sub(r"(\w+\.)+(?=\w)", "", repr(hint))
    wanted = "a sort, Map[K, V], Set[K] or a Record"
    if is_record:
        return f"the field {name} has the type {shown}\n  a field of a record is {wanted}"
    return (
        f"{name} has the type {shown}\n  a state variable is {wanted}; a constant is int or bool;"
        f" write ClassVar[{shown}] for anything else"
    )


def _records(shape: Shape) -> list[type[Record]]:
    while isinstance(shape, MapShape):
        shape = shape.value
    return [shape.record] if isinstance(shape, RecordShape) else []


def line_of(cls: type, name: str) -> int:
    """Returns the line of the annotation of `name` in the file of the class, or 0 if the class has
    no source. If the class itself has no such annotation, returns the first line of the class.
    """
    try:
        lines, first = inspect.getsourcelines(cls)
    except (OSError, TypeError):  # a class made at a prompt has no source
        return 0
    (definition,) = ast.parse(textwrap.dedent("".join(lines))).body
    assert isinstance(definition, ast.ClassDef)
    for node in definition.body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
            return first + node.lineno - 1
    return first
