r"""A parser of EDN, Clojure's data notation, which reads a text line by line.

The parser converts nil to None, and an integer to an int. It converts a vector or a list to a list,
and a map to a dict. It converts every other scalar to a text in a canonical notation, such as `:a`,
`"a"`, `a`, `\a`, `1.0` and `true`. The texts of two scalars are equal exactly if the scalars are
equal.

Source: the EDN format, github.com/edn-format/edn.
Simplified: a list equals a vector, as in Clojure; numbers with `M` keep their digits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

DELIMITER: Final = r'\s,\[\](){}";'
# Strings are matched possessively: backtracking would need memory for each of their characters.
_TOKEN: Final = re.compile(
    rf"""
      (?P<blank>[\s,]+|;.*)
    | (?P<integer>[+-]?\d+(?=[{DELIMITER}]|$))
    | (?P<open>[\[({{]|\#{{|\#:[^{DELIMITER}]+[\s,]*{{)
    | (?P<close>[\])}}])
    | (?P<discard>\#_)
    | (?P<text>"[^"\\]*+(?:\\.[^"\\]*+)*+")
    | (?P<char>\\(?:[A-Za-z][A-Za-z0-9]*|.))
    | (?P<tag>\#[A-Za-z][^{DELIMITER}]*)
    | (?P<atom>(?:\#\#)?[^{DELIMITER}\#\\][^{DELIMITER}\\]*)
    | (?P<bad>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSES: Final = {"[": "]", "(": ")", "{": "}"}
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f", "\\": "\\", '"': '"'}
_ESCAPED: Final = {char: f"\\{name}" for name, char in _ESCAPES.items()}
_NAMED: Final = {
    "newline": "\n", "return": "\r", "space": " ", "tab": "\t", "backspace": "\b", "formfeed": "\f"
}  # fmt: skip
_NAME_OF: Final = {char: name for name, char in _NAMED.items()}
_REST_OF_STRING: Final = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
MAX_DEPTH: Final = 200  # nested collections; no history needs more, and `text` is recursive

Form = Any  # None, int, str, list[Form], dict[None | int | str, Form], EdnSet or Tagged


class NotEdn(ValueError):
    """Raised for a text that is not EDN. The message starts with the line and the column of the
    fault, both from 1.
    """

    def __init__(self, line: int, column: int, fault: str) -> None:
        super().__init__(f"line {line}, column {column}: {fault}")


@dataclass(frozen=True, slots=True)
class EdnSet:
    forms: list[Form]


@dataclass(frozen=True, slots=True)
class Tagged:
    """An EDN form after a tag, such as `#inst "2026-11-21"`."""

    tag: str
    form: Form


@dataclass(slots=True)
class _Open:
    """A collection, tag or discard (`#_`) whose end the parser has not read yet."""

    kind: str  # [ ( { #{ #:name{, a tag, or #_
    line: int
    column: int
    forms: list[Form] = field(default_factory=list)

    @property
    def waits_for_one(self) -> bool:
        return self.kind[0] == "#" and self.kind[-1] != "{"


def entries(lines: Iterable[str]) -> Iterator[tuple[int, Form]]:
    """Yields each EDN form of the text, with the number of the line on which the form ends.

    If the whole text is one vector or list, each element of this vector or list is yielded as a
    form. Raises NotEdn if the text is malformed or incomplete.

    >>> [form for _, form in entries(['[{:a 1}', '"x"]'])]
    [{':a': 1}, '"x"']
    """
    reader = Reader()
    for number, line in enumerate(lines, 1):
        for form in reader.read(number, line):
            yield number, form
    reader.end()


@dataclass(slots=True)
class Reader:
    """A parser of EDN that gets the text one line at a time. A form may extend over several
    lines.
    """

    _stack: list[_Open] = field(default_factory=list[_Open])
    _string: list[str] = field(default_factory=list[str])  # lines of a string not yet closed
    _begun: tuple[int, int] = (0, 0)  # line and column where that string begins

    @property
    def is_between_forms(self) -> bool:
        """True if no form is incomplete at the end of the lines that were read.

        A vector or list around the whole text does not count as incomplete.
        """
        return not self._string and (not self._stack or _is_around(self._stack))

    def read(self, number: int, line: str) -> Iterator[Form]:
        """Yields the EDN forms that end on this line; raises NotEdn if the line is malformed."""
        stack = self._stack
        for column, kind, token in self._tokens(number, line):
            if kind in {"open", "discard", "tag"}:
                if len(stack) == MAX_DEPTH:
                    raise NotEdn(
                        number, column, f"collections are nested more than {MAX_DEPTH} deep"
                    )
                stack.append(_Open(token, number, column))
                continue
            form = (
                _closed(stack, token, number, column) if kind == "close" else SCALARS[kind](token)
            )
            while stack and stack[-1].waits_for_one and form is not _NOTHING:
                opened = stack.pop()
                form = _NOTHING if opened.kind == "#_" else Tagged(opened.kind[1:], form)
            if form is _NOTHING:
                continue
            if not stack or _is_around(stack):
                yield form
            else:
                stack[-1].forms.append(form)

    def end(self) -> None:
        if self._string:
            raise NotEdn(*self._begun, "the string is never closed: the text is cut short")
        if self._stack:
            opened = self._stack[-1]
            fault = f"{opened.kind!r} is never closed: the text is cut short"
            raise NotEdn(opened.line, opened.column, fault)

    def _tokens(self, number: int, line: str) -> Iterator[tuple[int, str, str]]:
        """Yields the column, the kind and the text of each token on the line.

        An opening bracket has the kind `open`.
        """
        start = 0
        # a string that began on an earlier line; its position is in that line
        if self._string:
            start = next(_REST_OF_STRING.finditer(line)).end() + 1
            self._string.append(line[:start])
            if line[start - 1 : start] != '"':
                return
            yield self._begun[1], "text", "".join(self._string)
            self._string = []
        for match in _TOKEN.finditer(line, start):
            kind, column = match.lastgroup or "bad", match.start() + 1
            if kind == "blank":
                continue
            if kind == "bad" and match[0] != '"':
                raise NotEdn(number, column, f"no EDN form begins with {match[0]!r}")
            if kind == "bad":
                self._begun, self._string = (number, column), [line[match.start() :]]
                return
            yield column, kind, match[0]


def _is_around(stack: list[_Open]) -> bool:
    return len(stack) == 1 and stack[0].kind in "[("


_NOTHING: Final = EdnSet([])  # a discarded form, or the enclosing vector, whose forms were yielded


def _closed(stack: list[_Open], token: str, line: int, column: int) -> Form:
    if not stack:
        raise NotEdn(line, column, f"{token!r} closes nothing")
    opened = stack.pop()
    if _CLOSES.get(opened.kind[-1]) != token:
        raise NotEdn(
            line,
            column,
            f"{token!r} does not close the {opened.kind!r} of line {opened.line}, column "
            f"{opened.column}",
        )
    if opened.kind in "[(":
        return _NOTHING if not stack else opened.forms
    if opened.kind == "#{":
        return EdnSet(opened.forms)
    keys, values = opened.forms[::2], opened.forms[1::2]
    if len(keys) != len(values):
        raise NotEdn(line, column, f"the map of line {opened.line} has a key without a value")
    namespace = opened.kind[2:-1].strip(" ,\t") if opened.kind[0] == "#" else ""
    pairs = {_key(key, namespace): value for key, value in zip(keys, values, strict=True)}
    if len(pairs) != len(keys):
        raise NotEdn(line, column, f"the map of line {opened.line} has one key twice")
    return pairs


def _key(form: Form, namespace: str) -> int | str | None:
    plain = form if form is None or isinstance(form, int | str) else text(form)
    if namespace and isinstance(plain, str) and plain[0] == ":" and "/" not in plain:
        return f":{namespace}/{plain[1:]}"
    return plain


def _string(token: str) -> str:
    if "\\" not in token and token.isprintable():
        return token
    plain = re.sub(r"\\(u[0-9A-Fa-f]{4}|.)", _unescaped, token[1:-1], flags=re.DOTALL)
    # a pair of surrogates is one character; a lone surrogate cannot be encoded and stays escaped
    plain = plain.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return '"' + "".join(_ESCAPED.get(char) or _encodable(char) for char in plain) + '"'


def _encodable(char: str) -> str:
    return f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char


def _char(token: str) -> str:
    name = token[1:]
    plain = chr(int(name[1:], 16)) if re.fullmatch("u[0-9A-Fa-f]{4}", name) else name
    plain = _NAMED.get(plain, plain)
    return _encodable(plain) if "\ud800" <= plain <= "\udfff" else "\\" + _NAME_OF.get(plain, plain)


def _unescaped(match: re.Match[str]) -> str:
    name = match[1]
    return chr(int(name[1:], 16)) if len(name) == 5 else _ESCAPES.get(name, name)


def _number(token: str) -> int | str:
    try:
        return int(token)
    except ValueError:
        # so many digits that Python refuses to convert them
        return ("-" if token[0] == "-" else "") + (token.lstrip("+-").lstrip("0") or "0")


def _atom(token: str) -> Form:
    if token == "nil":
        return None
    if not token[0].isdigit() and not (token[0] in "+-" and token[1:2].isdigit()):
        return token
    if token[-1] == "N" and token[:-1].lstrip("+-").isdigit():
        return _number(token[:-1])
    try:
        if "/" in token:
            ratio = Fraction(token)
            return ratio.numerator if ratio.denominator == 1 else str(ratio)
        return repr(float(token))
    except (ValueError, ZeroDivisionError):
        return token


SCALARS: Final[dict[str, Callable[[str], Form]]] = {
    "integer": _number,
    "text": _string,
    "char": _char,
    "atom": _atom,
}


def text(form: Form) -> str:
    """Returns the text of a form in a canonical EDN notation. Equal forms have equal texts.

    >>> text({":b": [1, None], ":a": '"x"'})
    '{:a "x", :b [1 nil]}'
    """
    if type(form) is int or type(form) is str:  # the common case
        return str(form)
    match form:
        case None:
            return "nil"
        case list():
            return f"[{' '.join(map(text, form))}]"
        case dict():
            return f"{{{', '.join(sorted(f'{text(k)} {text(v)}' for k, v in form.items()))}}}"
        case EdnSet():
            return f"#{{{' '.join(sorted(map(text, form.forms)))}}}"
        case Tagged():
            return f"#{form.tag} {text(form.form)}"
        case _:
            return str(form)
