"""Inquiries: what decides an anomaly, written as questions to a history in pieces.

An inquiry is a generator. It yields an `Ask` (a kernel, and over which source), is sent what the
kernel gathered from all pieces, asks again as often as it must, and returns what it found:

    def inversions() -> Inquiry[Found]:
        summaries = yield Ask(OPERATIONS, Kernel("how far each log had reached", ...))
        suspects = yield Ask(OPERATIONS, Kernel("offsets that look late", ..., summaries))
        ...
        return Found(...)

An inquiry may ask several at once: it yields a tuple of them, and is sent a tuple of answers.

`answered` runs any number of inquiries together. In each round all that is asked of one source is
one pass over it, so the history is read as often as the longest inquiry asks, not once for each.

Sources:

    OPERATIONS  the history: whole operations in completion order, columns as in `COLUMNS`
    PLACES      who sent or was given what at which place: see `places`, by key and block of offsets
    SENDS       every send: see `places`, by the fingerprint of its value

Kernels see texts as fingerprints; `spelled` asks for the texts behind those of the rows that are
shown, and finds out if two texts share one (`Collision`): then everything is asked anew, with
another salt.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa

from checkers.histories.fingerprints import NULL, Ints
from checkers.histories.order import member
from checkers.histories.piece import Piece, as_ints
from checkers.histories.pieces import Kernel, Pieces

ResultT = TypeVar("ResultT")

OPERATIONS: Final = "operations"
PLACES: Final = "places"
SENDS: Final = "sends"


@dataclass(frozen=True, slots=True)
class Ask:
    """A kernel, and the source that it looks at."""

    of: str
    kernel: Kernel


Asked = Ask | tuple[Ask, ...]
Inquiry = Generator[Asked, Any, ResultT]  # it is sent a table, or a tuple of them


class Collision(Exception):
    """Two texts that matter share a fingerprint under this salt."""


def answered(
    inquiries: Mapping[str, Inquiry[Any]], sources: Mapping[str, Callable[[], Pieces]]
) -> dict[str, Any]:
    """What each inquiry returns, under its name; a source is made when it is first asked.

    Sources are asked in their order: what can still be asked of the first is asked before the next.
    """
    results: dict[str, Any] = {}
    asked: dict[str, tuple[Inquiry[Any], Asked]] = {}
    answers: dict[str, dict[int, pa.Table]] = {}
    made: dict[str, Pieces] = {}

    def advance(name: str, inquiry: Inquiry[Any], answer: Any) -> None:
        try:
            asked[name] = inquiry, inquiry.send(answer)
            answers[name] = {}
        except StopIteration as stop:
            results[name] = stop.value

    for name, inquiry in inquiries.items():
        advance(name, inquiry, None)
    while asked:
        open_asks = [
            (name, number, ask)
            for name, (_, of_name) in asked.items()
            for number, ask in enumerate(_several(of_name))
            if number not in answers[name]
        ]
        source = next(s for s in sources if any(ask.of == s for _, _, ask in open_asks))
        now = [one for one in open_asks if one[2].of == source]
        if source not in made:
            made[source] = sources[source]()
        tables = made[source].gather([ask.kernel for _, _, ask in now])
        for (name, number, _), table in zip(now, tables, strict=True):
            answers[name][number] = table
        for name in dict.fromkeys(name for name, _, _ in now):
            inquiry, of_name = asked[name]
            if len(answers[name]) == len(_several(of_name)):
                told = tuple(answers[name][number] for number in sorted(answers[name]))
                del asked[name]
                advance(name, inquiry, told if isinstance(of_name, tuple) else told[0])
    return results


def _several(asked: Asked) -> tuple[Ask, ...]:
    return asked if isinstance(asked, tuple) else (asked,)


def beside(*inquiries: Inquiry[Any]) -> Inquiry[tuple[Any, ...]]:
    """What they all return: an inquiry that asks what they ask together."""
    results: dict[int, Any] = {}
    asked: dict[int, Asked] = {}

    def advance(number: int, answer: Any) -> None:
        try:
            asked[number] = inquiries[number].send(answer)
        except StopIteration as stop:
            results[number] = stop.value

    for number in range(len(inquiries)):
        advance(number, None)
    while asked:
        now = dict(asked)
        asked.clear()
        told = iter((yield tuple(ask for of_one in now.values() for ask in _several(of_one))))
        for number, of_one in now.items():
            answers = tuple(next(told) for _ in _several(of_one))
            advance(number, answers if isinstance(of_one, tuple) else answers[0])
    return tuple(results[number] for number in range(len(inquiries)))


# ---------------------------------------------------------------- texts behind fingerprints

TEXTS: Final = pa.schema([("fingerprint", pa.int64()), ("text", pa.string())])


def spelled(*wanted: Ints, column: str = "value") -> Inquiry[Callable[[Ints], pa.Array]]:
    """From fingerprints of `key` or `value` to their texts; Collision where one has two."""
    sought = np.unique(np.concatenate(wanted)) if wanted else np.zeros(0, dtype=np.int64)
    sought = sought[sought != NULL]
    if len(sought):
        run = partial(_texts, sought=sought, column=column)
        found = yield Ask(OPERATIONS, Kernel(f"{column}s in full", (column,), TEXTS, run))
        found = found.group_by(["fingerprint", "text"]).aggregate([]).sort_by("fingerprint")
    else:
        found = TEXTS.empty_table()
    known = as_ints(found["fingerprint"])
    if len(np.unique(known)) < len(known):
        raise Collision
    texts = pa.array([*found["text"].to_pylist(), None], pa.string())
    return partial(_text_of, known, texts)


def _text_of(known: Ints, texts: pa.Array, fingerprints: Ints) -> pa.Array:
    at = np.searchsorted(known, fingerprints)
    inside = at < len(known)
    inside[inside] = known[at[inside]] == fingerprints[inside]
    return texts.take(pa.array(np.where(inside, at, len(known))))


def _texts(piece: Piece, sought: Ints, column: str) -> pa.Table:
    numbers = piece.fingerprints(column)
    rows = np.flatnonzero(member(numbers, sought))
    texts = piece.table[column].take(pa.array(rows)).cast(pa.string())
    made = pa.table({"fingerprint": numbers[rows], "text": texts}, schema=TEXTS)
    return made.group_by(["fingerprint", "text"]).aggregate([])
