"""EDN of which most lines are a whole map each: such a line is spelled in JSON, and read as that.

Blanks become commas, and a map the one entry of an object: `{:a [1 2]}` is `{"": [":a",[1,2]]}`.
Python's reader of JSON is compiled, and strict: where a line is spelled otherwise than programs
spell maps, it finds no JSON, and `edn.Reader` reads that line, as it does what it alone knows.

Simplified: an escape, a float, a set, a tag or a comment sends its line to the slow reader.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from checkers.histories.io.edn import DEEPEST, DELIMITER, SCALARS, Form, Reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NO_NUMBER: Final = re.compile(rf'("[^"]*"|[A-Za-z:][^{DELIMITER}]*)')
_BEYOND: Final = re.compile(r"[\\;#]")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_REMEMBERED: Final = 50_000  # spellings; values may be new on every line


class _Spellings(dict[str, str]):
    """How JSON spells a scalar of EDN that is no number."""

    def __missing__(self, token: str) -> str:
        kind = "text" if token[0] == '"' else "atom"
        spelled = json.dumps(SCALARS[kind](token))
        if len(self) < _REMEMBERED:
            self[token] = spelled
        return spelled


_IN_JSON: Final = _Spellings()


class _Unusual(ValueError):
    """A line that only the slow reader reads."""


def entries(lines: Iterable[str]) -> Iterator[tuple[int, Form]]:
    """The same as `edn.entries`, several times as fast where a line is a map; NotEdn."""
    reader = Reader()
    for number, line in enumerate(lines, 1):
        forms: tuple[Form] | None
        try:
            forms = (as_map(line.strip(", \t\n\r")),) if reader.is_between_forms else None
        except (ValueError, TypeError, RecursionError):
            forms = None
        for form in reader.read(number, line) if forms is None else forms:
            yield number, form
    reader.end()


def as_map(line: str) -> Form:
    """The map that is the line; ValueError, TypeError, RecursionError where it is none."""
    if line[:1] != "{" or _BEYOND.search(line):
        raise _Unusual
    tokens = _NO_NUMBER.split(line)
    tokens[1::2] = map(_IN_JSON.__getitem__, tokens[1::2])
    between = "\0".join(tokens[::2]).replace(", ", ",").replace(" ", ",")
    tokens[::2] = between.replace("{", '{"":[').replace("}", "]}").split("\0")
    spelled = "".join(tokens)
    if spelled.count("[") > DEEPEST and _depth(spelled) > DEEPEST:
        raise _Unusual
    return _DECODER.decode(spelled)


def _depth(spelled: str) -> int:
    deep = deepest = 0
    for bracket in re.findall(r"[\[\]]", _STRING.sub("", spelled)):
        deep += 1 if bracket == "[" else -1
        deepest = max(deep, deepest)
    return deepest


def _pairs(told: dict[str, list[Form]]) -> dict[Any, Form]:
    """The map of keys and values in turn; TypeError for a key that is a collection."""
    forms = told[""]
    pairs = dict(zip(forms[::2], forms[1::2], strict=False))
    if 2 * len(pairs) != len(forms):  # one is left over, or a key comes twice
        raise _Unusual
    return pairs


def _refuse(token: str) -> None:
    raise _Unusual(token)


_DECODER: Final = json.JSONDecoder(object_hook=_pairs, parse_float=_refuse, parse_constant=_refuse)
