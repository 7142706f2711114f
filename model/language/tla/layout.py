"""Lays out TLA+ text in lines of at most 96 characters.

A document is a text, a sequence of documents, or a choice between two layouts: one line if it is
short enough, otherwise several lines. If a list of conjuncts has several lines, the conjuncts are
aligned, because their columns have a meaning in TLA+.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import assert_never

WIDTH = 96


@dataclass(frozen=True)
class Row:
    """Pieces of text (documents of the pretty printer) that are printed side by side, without a
    separator.
    """

    parts: tuple[Doc, ...]

    @cached_property
    def flat(self) -> str:
        return "".join(map(flat, self.parts))


@dataclass(frozen=True)
class Nest:
    """A document in which every line but the first is indented by `by` more characters."""

    by: int
    of: Doc

    @cached_property
    def flat(self) -> str:
        return flat(self.of)


@dataclass(frozen=True)
class Align:
    """A document in which every line begins in the column where the first line begins."""

    of: Doc

    @cached_property
    def flat(self) -> str:
        return flat(self.of)


@dataclass(frozen=True)
class Choice:
    """A document with two layouts: one line (`flat`) if it fits, otherwise several lines
    (`broken`).
    """

    flat: str
    broken: Doc


@dataclass(frozen=True)
class End:
    """A place where a line ends if the layout has several lines. In a layout of one line, `flat` is
    printed in its place.
    """

    flat: str = " "


Doc = str | Row | Nest | Align | Choice | End


def flat(doc: Doc) -> str:
    return doc if isinstance(doc, str) else doc.flat


def row(*parts: Doc) -> Doc:
    return Row(parts)


def group(doc: Doc) -> Doc:
    return Choice(flat(doc), doc)


def bullets(sign: str, items: Sequence[Doc]) -> Doc:
    r"""Returns a list of conjuncts or disjuncts. Each item begins a line with the sign, such as
    `/\`.
    """
    lines: list[Doc] = []
    for item in items:
        lines += [*([End()] if lines else []), f"{sign} ", Align(item)]
    return Align(Row(tuple(lines)))


def listed(opening: str, items: Sequence[Doc], closing: str) -> Doc:
    """Returns the items between brackets, separated by commas. They are on one line if the line is
    short enough. Otherwise, each item is on a line of its own.
    """
    inner: list[Doc] = []
    for k, item in enumerate(items):
        inner += [*([End()] if k else []), item, *([","] if k + 1 < len(items) else [])]
    one_line = opening + ", ".join(map(flat, items)) + closing
    return Choice(one_line, row(opening, Align(Row(tuple(inner))), closing))


def becomes(left: Doc, sign: str, right: Doc) -> Doc:
    """Returns two expressions with an operator between them, such as `x = 1`. If they do not fit on
    one line, the right expression begins on a new line.
    """
    broken = Align(row(left, f" {sign}", Nest(2, row(End(), Align(right)))))
    return Choice(f"{flat(left)} {sign} {flat(right)}", broken)


def filled(opening: str, words: Sequence[str], closing: str) -> Doc:
    """Returns a list of words between brackets, such as `<<a, b>>`. Each line contains as many
    words as fit.
    """
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
        """Prints a document. Each new line begins in the column `indent`. `after` is the number of
        characters that follow the document on its final line.
        """
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
    """Returns a lower bound for the number of characters before the first possible line break of
    `part`.

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
