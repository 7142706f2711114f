"""A fast EDN reader for files in which most lines hold one complete map each.

The reader translates such a line to JSON and decodes the JSON. An EDN map becomes a list with its
keys and values in turn, inside a JSON object: `{:a [1 2]}` becomes `{"": [":a",[1,2]]}`. If the
result is not valid JSON, `edn.Reader` parses the line instead.

Simplified: `edn.Reader` also parses each line that has an escape, a float, a set, a tag or a
comment.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from checkers.histories.io.edn import DELIMITER, MAX_DEPTH, SCALARS, Form, Reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NOT_A_NUMBER: Final = re.compile(rf'("[^"]*"|[A-Za-z:][^{DELIMITER}]*)')
_SLOW_ONLY: Final = re.compile(r"[\\;#]")
_STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_CACHE_LIMIT: Final = 50_000  # entries; values may be new on every line


class _JsonScalars(dict[str, str]):
    def __missing__(self, token: str) -> str:
        kind = "text" if token[0] == '"' else "atom"
        in_json = json.dumps(SCALARS[kind](token))
        if len(self) < _CACHE_LIMIT:
            self[token] = in_json
        return in_json


_IN_JSON: Final = _JsonScalars()


class _NotJson(ValueError):
    """Raised for a line that cannot be translated to JSON, so `edn.Reader` must parse it."""


def entries(lines: Iterable[str]) -> Iterator[tuple[int, Form]]:
    """Yields each EDN form of the text, with the number of the line on which the form ends.

    The result equals the result of `edn.entries`, but this function is faster. Raises NotEdn if the
    text is malformed or incomplete.
    """
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
    """Returns the EDN map on this line, decoded by way of JSON.

    Raises ValueError, TypeError or RecursionError if the line cannot be translated to JSON.
    """
    if line[:1] != "{" or _SLOW_ONLY.search(line):
        raise _NotJson
    tokens = _NOT_A_NUMBER.split(line)
    tokens[1::2] = map(_IN_JSON.__getitem__, tokens[1::2])
    between = "\0".join(tokens[::2]).replace(", ", ",").replace(" ", ",")
    tokens[::2] = between.replace("{", '{"":[').replace("}", "]}").split("\0")
    as_json = "".join(tokens)
    if as_json.count("[") > MAX_DEPTH and _depth(as_json) > MAX_DEPTH:
        raise _NotJson
    return _DECODER.decode(as_json)


def _depth(as_json: str) -> int:
    depth = deepest = 0
    for bracket in re.findall(r"[\[\]]", _STRING.sub("", as_json)):
        depth += 1 if bracket == "[" else -1
        deepest = max(depth, deepest)
    return deepest


def _pairs(entry: dict[str, list[Form]]) -> dict[Any, Form]:
    # An EDN map is translated to `{"": [key, value, key, value]}`.
    forms = entry[""]
    # raises TypeError if a key is a collection
    pairs = dict(zip(forms[::2], forms[1::2], strict=False))
    if 2 * len(pairs) != len(forms):  # a key without a value, or one key twice
        raise _NotJson
    return pairs


def _refuse(token: str) -> None:
    raise _NotJson(token)


_DECODER: Final = json.JSONDecoder(object_hook=_pairs, parse_float=_refuse, parse_constant=_refuse)
