"""Lays out TLA+ text in lines of at most 96 characters.

A document is a text, a sequence of documents, or a choice between one line, if it is short enough,
and several lines. A list of conjuncts in several lines is aligned, because TLA+ reads the
alignment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import assert_never

WIDTH = 96


@dataclass(frozen=True)
class Row:
    """Documents that follow one another, with nothing between them."""

    parts: tuple[Doc, ...]

    @cached_property
    def flat(self) -> str:
        return "".join(map(flat, self.parts))


@dataclass(frozen=True)
class Nest:
    """A document whose lines after the first are indented by `by` more characters."""

    by: int
    of: Doc

    @cached_property
    def flat(self) -> str:
        return flat(self.of)


@dataclass(frozen=True)
class Align:
    """A document whose lines after the first begin in the same column as the first."""

    of: Doc

    @cached_property
    def flat(self) -> str:
        return flat(self.of)


@dataclass(frozen=True)
class Choice:
    """A document with two layouts: one line if it fits, otherwise several lines (`broken`)."""

    flat: str
    broken: Doc


@dataclass(frozen=True)
class End:
    """A place where a line may end; otherwise `flat` is printed."""

    flat: str = " "


Doc = str | Row | Nest | Align | Choice | End


def flat(doc: Doc) -> str:
    return doc if isinstance(doc, str) else doc.flat


def row(*parts: Doc) -> Doc:
    return Row(parts)


def group(doc: Doc) -> Doc:
    return Choice(flat(doc), doc)


def bullets(sign: str, items: Sequence[Doc]) -> Doc:
    r"""Returns a junction list: each item in a line that begins with the sign, such as `/\\`."""
    lines: list[Doc] = []
    for item in items:
        lines += [*([End()] if lines else []), f"{sign} ", Align(item)]
    return Align(Row(tuple(lines)))


def listed(opening: str, items: Sequence[Doc], closing: str) -> Doc:
    """Returns items between brackets: on one line, or each on a line of its own."""
    inner: list[Doc] = []
    for k, item in enumerate(items):
        inner += [*([End()] if k else []), item, *([","] if k + 1 < len(items) else [])]
    one_line = opening + ", ".join(map(flat, items)) + closing
    return Choice(one_line, row(opening, Align(Row(tuple(inner))), closing))


def becomes(left: Doc, sign: str, right: Doc) -> Doc:
    """Returns two expressions with an operator between them, such as `x = 1`; a long right side has
    lines of its own.
    """
    broken = Align(row(left, f" {sign}", Nest(2, row(End(), Align(right)))))
    return Choice(f"{flat(left)} {sign} {flat(right)}", broken)


def filled(opening: str, words: Sequence[str], closing: str) -> Doc:
    """Returns a list of words in brackets, such as `<<a, b>>`: as many on each line as fit."""
    lines, line = [], ""
    for k, word in enumerate(words):
        more = f"{word}," if k + 1 < len(words) else word
        if line and len(line) + len(more) > WIDTH - 26:
            lines.append(line)
            line = ""
        line = f"{line} {more}" if line else more
    lines.append(line)
    inner: list[Doc] = []
    for text in lines:
        inner += [*([End()] if inner else []), text]
    return row(opening, Align(Row(tuple(inner))), closing)


@dataclass
class _Printer:
    out: list[str]
    column: int = 0

    def print(self, doc: Doc, indent: int, after: int) -> None:
        """Prints a document; `after` characters follow on the last line."""
        match doc:
            case str():
                self.out.append(doc)
                self.column += len(doc)
            case Row():
                follow = after
                follows: list[int] = []
                for part in reversed(doc.parts):
                    follows.append(follow)
                    follow = _head(part, follow)
                for part, rest in zip(doc.parts, reversed(follows), strict=True):
                    self.print(part, indent, rest)
            case Nest():
                self.print(doc.of, indent + doc.by, after)
            case Align():
                self.print(doc.of, self.column, after)
            case Choice():
                fits = self.column + len(doc.flat) + after <= WIDTH and "\n" not in doc.flat
                self.print(doc.flat if fits else doc.broken, indent, after)
            case End():
                self.out.append("\n" + " " * indent)
                self.column = indent
            case _:
                assert_never(doc)


def _head(part: Doc, follow: int) -> int:
    """Returns the number of characters before the first possible line break of `part`.

    `follow` is this number for the document after `part`.
    """
    if isinstance(part, str):
        return len(part) + follow
    # for a document with parts, a lower bound
    return 0 if isinstance(part, End | Choice) else min(len(flat(part)), 1)


def text(doc: Doc) -> str:
    printer = _Printer([])
    printer.print(doc, 0, 0)
    return "\n".join(line.rstrip() for line in "".join(printer.out).split("\n"))
