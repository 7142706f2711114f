"""Lists every error that a user can cause: file, line, class and text.

    python -m tools.error_messages [FOLDER]...

The errors are found in the sources: each call of a class that derives from `InputFault` or from
click's exceptions. In a text, `{...}` stands for an expression.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
FOLDERS: Final = ("model", "properties", "reference_impl", "checkers")
BASES: Final = frozenset({"InputFault", "ClickException", "UsageError", "BadParameter"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorMessage:
    file: str
    line: int
    error: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.error}: {self.text}"


def error_messages(folders: Iterable[str] = FOLDERS) -> list[ErrorMessage]:
    """Returns the error messages that the code in the folders creates, sorted by file and line."""
    files = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    trees = {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in files
    }
    classes = error_classes(trees)
    return [one for file, tree in trees.items() for one in _created(file, tree, classes)]


def error_classes(trees: Mapping[str, ast.Module]) -> frozenset[str]:
    """Returns the names of all classes that derive from InputFault or from click's exceptions."""
    bases = {
        node.name: {_name(base) for base in node.bases}
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = set(BASES)
    while added := {name for name, of in bases.items() if of & found} - found:
        found |= added
    return frozenset(found)


def _created(file: str, tree: ast.Module, classes: frozenset[str]) -> Iterator[ErrorMessage]:
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    for call in sorted(calls, key=lambda node: node.lineno):
        if _name(call.func) in classes:
            text = " | ".join(_text(argument) for argument in call.args)
            yield ErrorMessage(file=file, line=call.lineno, error=_name(call.func), text=text)


def _name(node: ast.expr) -> str:
    # `UsageError` of `click.UsageError`
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr():
            return "".join(map(_text, node.values))
        case ast.FormattedValue():
            return f"{{{ast.unparse(node.value)}}}"
        case ast.BinOp(op=ast.Add()):
            return _text(node.left) + _text(node.right)
        case _:
            return f"{{{ast.unparse(node)}}}"


def main() -> None:
    sys.stdout.writelines(f"{one}\n" for one in error_messages(sys.argv[1:] or FOLDERS))


if __name__ == "__main__":
    main()
