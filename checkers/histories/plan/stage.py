"""Inquiries: what decides an anomaly, written as questions to a history in pieces.

An inquiry is a generator. It yields an `Ask` (a kernel, and over which source), is sent what the
kernel gathered from all pieces, asks again as often as it must, and returns what it found:

    def inversions() -> Inquiry[Found]:
        summaries = yield Ask(OPERATIONS, Kernel("how far each log had reached", ...))
        suspects = yield Ask(OPERATIONS, Kernel("offsets that look late", ..., summaries))
        ...
        return Found(...)

An inquiry may ask several at once: it yields a tuple of them, and is sent a tuple of answers. What
it asks may be another inquiry (`beside`), which then goes its own way.

`answered` runs any number of inquiries together. In each round all that is asked of one source is
one pass over it, so the history is read as often as the longest inquiry asks, not once for each.
Texts (`Spell`) are asked for when nothing else can be: mostly once, by all who show anything. Of
columns of few texts all are told beside the first look that reads the column.

Sources:

    OPERATIONS  the history: whole operations in completion order, columns as in `COLUMNS`
    PLACES      who sent or was given what at which place: see `places`, by key and block of offsets
    SENDS       every send: see `places`, by the fingerprint of its value

Kernels see texts as fingerprints; `spelled` asks for the texts behind those of the rows that are
shown, and finds out if two texts share one (`Collision`): then everything is asked anew, with
another salt.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.fingerprints import NULL, Ints, fingerprints
from checkers.histories.columnar.sorting import distinct, member
from checkers.histories.plan.batch import Piece
from checkers.histories.plan.batches import Kernel, Pieces, columns_of

ResultT = TypeVar("ResultT")

OPERATIONS: Final = "operations"
PLACES: Final = "places"
SENDS: Final = "sends"


@dataclass(frozen=True, slots=True)
class Ask:
    """A kernel, and the source that it looks at."""

    of: str
    kernel: Kernel


@dataclass(frozen=True, slots=True)
class Spell:
    """The texts of a column of the history that have these fingerprints; more may be told."""

    column: str
    sought: Ints


ALL_AT_ONCE: Final = ("key", "group", "transactional_id")  # columns of few texts: all are told

Inquiry = Generator[Any, Any, ResultT]  # asks `Ask`, `Spell`, inquiries; or a tuple of these


class Collision(Exception):
    """Two texts that matter share a fingerprint under this salt."""


def answered(
    inquiries: Mapping[str, Inquiry[Any]], sources: Mapping[str, Callable[[], Pieces]]
) -> dict[str, Any]:
    """What each inquiry returns, under its name; a source is made when it is first asked.

    Sources are asked in their order: what can still be asked of the first is asked before the next.
    """
    results: dict[str, Any] = {}
    asks = _Asks()
    made: dict[str, Pieces] = {}
    for name, inquiry in inquiries.items():
        _Asker(inquiry, partial(results.__setitem__, name), asks).go_on(None)
    while asks.open:
        source = next((s for s in sources if any(one.of == s for one in asks.open)), None)
        now = asks.taken(source)
        askers: dict[Kernel, list[_Open]] = {}
        for one, kernel in _spelling(now) if source is None else _kernels(now):
            askers.setdefault(kernel, []).append(one)
        looked_at = source or OPERATIONS
        if looked_at not in made:
            made[looked_at] = sources[looked_at]()
        spelling = _spelt_beside(askers, asks.texts) if source == OPERATIONS else {}
        tables = made[looked_at].gather([*askers, *spelling.values()])
        asks.keep(zip(spelling, tables[len(askers) :], strict=True))
        if source is None:
            asks.keep(zip((kernel.columns[0] for kernel in askers), tables, strict=True))
        for some, table in zip(askers.values(), tables, strict=False):
            for one in some:
                one.tell(table)
    return results


@dataclass(frozen=True, slots=True, eq=False)
class _Open:
    """What is asked, and who wants to know."""

    ask: Ask | Spell
    tell: Callable[[Any], None]

    @property
    def of(self) -> str | None:
        """The source; None: texts."""
        return self.ask.of if isinstance(self.ask, Ask) else None


@dataclass(slots=True, eq=False)
class _Asks:
    """What is asked and not yet answered; and the texts of columns that have few, as they came."""

    open: list[_Open] = field(default_factory=list)
    texts: dict[str, pa.Table] = field(default_factory=dict)

    def add(self, ask: Ask | Spell, tell: Callable[[Any], None]) -> None:
        if isinstance(ask, Spell) and ask.column in self.texts:
            tell(self.texts[ask.column])
        else:
            self.open.append(_Open(ask, tell))

    def taken(self, source: str | None) -> list[_Open]:
        """All that is asked of the source; from now on it counts as answered."""
        now = [one for one in self.open if one.of == source]
        self.open = [one for one in self.open if one.of != source]
        return now

    def keep(self, told: Iterable[tuple[str, pa.Table]]) -> None:
        self.texts.update((column, texts) for column, texts in told if column in ALL_AT_ONCE)


@dataclass(slots=True, eq=False)
class _Asker:
    """An inquiry on its way: it goes on when all that it asked at once is answered."""

    inquiry: Inquiry[Any]
    end: Callable[[Any], None]
    asks: _Asks

    def go_on(self, answer: Any) -> None:
        try:
            asked = self.inquiry.send(answer)
        except StopIteration as stop:
            self.end(stop.value)
            return
        several = asked if isinstance(asked, tuple) else (asked,)
        answers: dict[int, Any] = {}

        def tell(number: int, told: Any) -> None:
            answers[number] = told
            if len(answers) == len(several):
                all_told = tuple(answers[n] for n in range(len(several)))
                self.go_on(all_told if isinstance(asked, tuple) else told)

        if not several:
            self.go_on(())
        for number, one in enumerate(several):
            if isinstance(one, Ask | Spell):
                self.asks.add(one, partial(tell, number))
            else:
                _Asker(one, partial(tell, number), self.asks).go_on(None)


def beside(*inquiries: Inquiry[Any]) -> Inquiry[tuple[Any, ...]]:
    """What they all return: an inquiry that asks what they ask, each in its own time."""
    told: tuple[Any, ...] = yield inquiries
    return told


# ---------------------------------------------------------------- texts behind fingerprints

TEXTS: Final = pa.schema([("fingerprint", pa.int64()), ("text", pa.string())])


def spelled(*wanted: Ints, column: str = "value") -> Inquiry[Callable[[Ints], pa.Array]]:
    """From fingerprints of `key` or `value` to their texts; Collision where one has two."""
    sought = distinct(np.concatenate(wanted)) if wanted else np.zeros(0, dtype=np.int64)
    sought = sought[sought != NULL]
    if len(sought):
        found = yield Spell(column, sought)
    else:
        found = TEXTS.empty_table()
    pairs = sorted({*zip(*found.to_pydict().values(), strict=True)})
    known = np.array([number for number, _ in pairs], dtype=np.int64)
    if np.any(known[1:] == known[:-1]):
        raise Collision
    texts = pa.array([*(text for _, text in pairs), None], pa.string())
    return partial(_text_of, known, texts)


def _kernels(now: list[_Open]) -> Iterator[tuple[_Open, Kernel]]:
    return ((one, one.ask.kernel) for one in now if isinstance(one.ask, Ask))


def _spelling(now: list[_Open]) -> Iterator[tuple[_Open, Kernel]]:
    """For each `Spell` the kernel that answers it, which is one for all of a column."""
    columns: dict[str, list[_Open]] = {}
    sought: dict[str, list[Ints]] = {}
    for one in now:
        if isinstance(one.ask, Spell):
            columns.setdefault(one.ask.column, []).append(one)
            sought.setdefault(one.ask.column, []).append(one.ask.sought)
    for column, askers in columns.items():
        some = None if column in ALL_AT_ONCE else distinct(np.concatenate(sought[column]))
        kernel = _in_full(column, some)
        yield from ((one, kernel) for one in askers)


def _spelt_beside(asked: Iterable[Kernel], known: Collection[str]) -> dict[str, Kernel]:
    """For each column of few texts that is read anyway, and not yet known, what tells them all."""
    of_few = (name for name in columns_of(asked) if name in ALL_AT_ONCE and name not in known)
    return {name: _in_full(name, None) for name in of_few}


def _in_full(column: str, sought: Ints | None) -> Kernel:
    run = partial(_texts, sought=sought, column=column)
    return Kernel(f"{column}s in full", (column,), TEXTS, run)


def _text_of(known: Ints, texts: pa.Array, fingerprints: Ints) -> pa.Array:
    at = np.searchsorted(known, fingerprints)
    inside = at < len(known)
    inside[inside] = known[at[inside]] == fingerprints[inside]
    return texts.take(pa.array(np.where(inside, at, len(known))))


def _texts(piece: Piece, sought: Ints | None, column: str) -> pa.Table:
    """The texts of these fingerprints; without any, all."""
    if sought is None:
        _, texts = piece.codes(column)
        return pa.table({"fingerprint": fingerprints(texts, piece.salt), "text": texts}, TEXTS)
    of_row = piece.fingerprints(column)
    rows = np.flatnonzero(member(of_row, sought))
    if not len(rows):
        return TEXTS.empty_table()
    numbers, texts = of_row[rows], piece.table[column].take(pa.array(rows)).cast(pa.string())
    made = pa.table({"fingerprint": numbers, "text": texts}, schema=TEXTS)
    return made.group_by(["fingerprint", "text"], use_threads=False).aggregate([])
