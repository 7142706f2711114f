"""EDN, read form by form from lines of text.

A form is what Python has for it, where that is exact: nil is None, an integer an int, a vector or a
list a list, a map a dict. Every other scalar stays text, spelled so that equal scalars are equal
texts and different ones differ: `:a`, `"a"`, `a`, `\\a`, `1.0`, `true`. `text` spells any form so.

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
_TOKEN: Final = re.compile(
    rf"""
      (?P<blank>[\s,]+|;.*)
    | (?P<integer>[+-]?\d+(?=[{DELIMITER}]|$))
    | (?P<open>[\[({{]|\#{{|\#:[^{DELIMITER}]+[\s,]*{{)
    | (?P<close>[\])}}])
    | (?P<discard>\#_)
    | (?P<text>"(?:[^"\\]|\\.)*")
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
_REST_OF_STRING: Final = re.compile(r'(?:[^"\\]|\\.)*', re.DOTALL)
DEEPEST: Final = 200  # forms inside forms; what is deeper is no history, and `text` recurs

Form = Any  # None, int, str, list[Form], dict[None | int | str, Form], Collection or Tagged


class NotEdn(ValueError):
    """The text is not EDN; has the line and the column, both from 1."""

    def __init__(self, line: int, column: int, what: str) -> None:
        super().__init__(f"line {line}, column {column}: {what}")


@dataclass(frozen=True, slots=True)
class Elements:
    """A set."""

    forms: list[Form]


@dataclass(frozen=True, slots=True)
class Tagged:
    """A form behind a tag, as in `#inst "2026-11-21"`."""

    tag: str
    form: Form


@dataclass(slots=True)
class _Open:
    """A collection, tag or discard that waits for its forms."""

    kind: str  # [ ( { #{ #:name{, a tag, or #_
    line: int
    column: int
    forms: list[Form] = field(default_factory=list)

    @property
    def waits_for_one(self) -> bool:
        """It is a tag or a discard."""
        return self.kind[0] == "#" and self.kind[-1] != "{"


def entries(lines: Iterable[str]) -> Iterator[tuple[int, Form]]:
    """The forms of the text with the lines on which they end; those of a vector around all of them.

    NotEdn where the text is none, at the line and column.

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
    """Reads line by line; a form, and a string too, may go on over several of them."""

    _stack: list[_Open] = field(default_factory=list[_Open])
    _string: list[str] = field(default_factory=list[str])  # that no line has closed yet
    _begun: tuple[int, int] = (0, 0)  # the line and the column of that string

    @property
    def is_between_forms(self) -> bool:
        """Nothing is open, but a vector around all forms."""
        return not self._string and (not self._stack or _is_around(self._stack))

    def read(self, number: int, line: str) -> Iterator[Form]:
        """The forms that end on the line; NotEdn."""
        stack = self._stack
        for column, kind, token in self._tokens(number, line):
            if kind in {"open", "discard", "tag"}:
                if len(stack) == DEEPEST:
                    raise NotEdn(
                        number, column, f"forms lie in each other more than {DEEPEST} deep"
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
        """NotEdn if something is open that no line has closed."""
        if self._string:
            raise NotEdn(*self._begun, "a string begins that nothing closes: the text is torn")
        if self._stack:
            opened = self._stack[-1]
            says = f"{opened.kind!r} begins, nothing ends it: the text is torn"
            raise NotEdn(opened.line, opened.column, says)

    def _tokens(self, number: int, line: str) -> Iterator[tuple[int, str, str]]:
        """Column, kind and text of each token that ends on the line."""
        goes_on = 0
        if self._string:
            goes_on = next(_REST_OF_STRING.finditer(line)).end() + 1
            self._string.append(line[:goes_on])
            if line[goes_on - 1 : goes_on] != '"':
                return
            yield self._begun[1], "text", "".join(self._string)
            self._string = []
        for match in _TOKEN.finditer(line, goes_on):
            kind, column = match.lastgroup or "bad", match.start() + 1
            if kind == "blank":
                continue
            if kind == "bad" and match[0] != '"':
                raise NotEdn(number, column, f"{match[0]!r} begins no form")
            if kind == "bad":
                self._begun, self._string = (number, column), [line[match.start() :]]
                return
            yield column, kind, match[0]


def _is_around(stack: list[_Open]) -> bool:
    return len(stack) == 1 and stack[0].kind in "[("


_NOTHING: Final = Elements([])  # what was discarded, or the vector around all: given one by one


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
        return Elements(opened.forms)
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
    """The string with its escapes spelled in one way."""
    if "\\" not in token and token.isprintable():
        return token
    plain = re.sub(r"\\(u[0-9A-Fa-f]{4}|.)", _unescaped, token[1:-1], flags=re.DOTALL)
    # two surrogates are one character; one alone is no text, and stays escaped
    plain = plain.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return '"' + "".join(_ESCAPED.get(char) or _spelled(char) for char in plain) + '"'


def _spelled(char: str) -> str:
    return f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char


def _char(token: str) -> str:
    """The character, spelled in one way."""
    name = token[1:]
    plain = chr(int(name[1:], 16)) if re.fullmatch("u[0-9A-Fa-f]{4}", name) else name
    plain = _NAMED.get(plain, plain)
    return _spelled(plain) if "\ud800" <= plain <= "\udfff" else "\\" + _NAME_OF.get(plain, plain)


def _unescaped(match: re.Match[str]) -> str:
    name = match[1]
    return chr(int(name[1:], 16)) if len(name) == 5 else _ESCAPES.get(name, name)


def _number(token: str) -> int | str:
    """The integer; one with more digits than Python converts stays text."""
    try:
        return int(token)
    except ValueError:
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
    """The form in EDN; equal forms have equal texts.

    >>> text({":b": [1, None], ":a": '"x"'})
    '{:a "x", :b [1 nil]}'
    """
    if type(form) is int or type(form) is str:  # nearly all of them
        return str(form)
    match form:
        case None:
            return "nil"
        case list():
            return f"[{' '.join(map(text, form))}]"
        case dict():
            return f"{{{', '.join(sorted(f'{text(k)} {text(v)}' for k, v in form.items()))}}}"
        case Elements():
            return f"#{{{' '.join(sorted(map(text, form.forms)))}}}"
        case Tagged():
            return f"#{form.tag} {text(form.form)}"
        case _:
            return str(form)
