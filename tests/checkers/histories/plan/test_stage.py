"""Inquiries are answered together: each round is one pass over a source, whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.plan.batch import Piece
from checkers.histories.plan.batches import GROUP, Kernel, LocalPieces, Pieces
from checkers.histories.plan.spill import Held
from checkers.histories.plan.stage import (
    OPERATIONS,
    PLACES,
    Ask,
    Collision,
    Inquiry,
    answered,
    beside,
    spelled,
)

NUMBER = pa.schema([("n", pa.int64())])
DEALT = pa.schema([(GROUP, pa.int64()), ("n", pa.int64())])


def plus(piece: Piece, added: int) -> pa.Table:
    return pa.table({"n": piece.ints("n") + added}, schema=NUMBER)


def adding(added: int, of: str = OPERATIONS) -> Ask:
    return Ask(of, Kernel(f"plus {added}", ("n",), NUMBER, partial(plus, added=added)))


def numbers(*of_pieces: list[int]) -> LocalPieces:
    return LocalPieces(tuple(Held(pa.table({"n": of}, schema=NUMBER)) for of in of_pieces))


def listed(table: pa.Table) -> list[int]:
    return [int(n) for n in table["n"].to_pylist()]


@dataclass
class Watched:
    """Pieces that count their passes."""

    pieces: Pieces
    passes: list[list[str]] = field(default_factory=list)

    def gather(self, kernels: Sequence[Kernel]) -> list[pa.Table]:
        self.passes.append([kernel.says for kernel in kernels])
        return self.pieces.gather(kernels)


def test_what_is_asked_of_one_source_is_one_pass() -> None:
    def short() -> Inquiry[list[int]]:
        told = yield adding(1)
        return listed(told)

    def long() -> Inquiry[list[int]]:
        first = yield adding(10)
        second, places = yield adding(first["n"][0].as_py()), adding(7, PLACES)
        return [*listed(second), *listed(places)]

    history, places = Watched(numbers([1, 2], [3])), Watched(numbers([5]))
    sources: dict[str, Callable[[], Pieces]] = {OPERATIONS: lambda: history, PLACES: lambda: places}
    told = answered({"short": short(), "long": long()}, sources)
    assert told == {"short": [2, 3, 4], "long": [12, 13, 14, 12]}
    assert history.passes == [["plus 1", "plus 10"], ["plus 11"]]
    assert places.passes == [["plus 7"]]


def test_inquiries_beside_each_other_do_not_wait_for_each_other() -> None:
    def steps(*asks: Ask) -> Inquiry[list[int]]:
        told: list[int] = []
        for ask in asks:
            told += listed((yield ask))
        return told

    def both() -> Inquiry[list[int]]:
        one, other, none = yield from beside(
            steps(adding(1), adding(2), adding(3)), steps(adding(7, PLACES), adding(9)), beside()
        )
        assert none == ()
        return [*one, *other]

    history, places = Watched(numbers([10])), Watched(numbers([20]))
    sources: dict[str, Callable[[], Pieces]] = {OPERATIONS: lambda: history, PLACES: lambda: places}
    assert answered({"both": both()}, sources) == {"both": [11, 12, 13, 27, 19]}
    assert history.passes == [["plus 1"], ["plus 2"], ["plus 3"], ["plus 9"]]
    assert places.passes == [["plus 7"]]


def test_texts_are_asked_for_when_nothing_else_can_be_and_by_all_at_once() -> None:
    def shown(wanted: Ints, *before: Ask) -> Inquiry[list[str]]:
        for ask in before:
            _ = yield ask
        text_of = yield from spelled(wanted)
        texts: list[str] = text_of(wanted).to_pylist()
        return texts

    words = pa.table({"n": pa.array([1, 2]), "value": ["a", "b"]})
    history = Watched(LocalPieces((Held(words),)))
    a, b = fingerprints(pa.array(["a", "b"]))[:, None]
    told = answered(
        {"soon": shown(a), "late": shown(b, adding(1), adding(2))}, {OPERATIONS: lambda: history}
    )
    assert told == {"soon": ["a"], "late": ["b"]}
    assert history.passes == [["plus 1"], ["plus 2"], ["values in full"]]


def test_of_few_texts_all_are_told_once() -> None:
    def shown(*wanted: str) -> Inquiry[list[str]]:
        texts: list[str] = []
        for word in wanted:
            number = fingerprints(pa.array([word]))
            text_of = yield from spelled(number, column="key")
            texts += text_of(number).to_pylist()
        return texts

    history = Watched(LocalPieces((Held(pa.table({"key": ["k", "j", "k"]})),)))
    told = answered({"it": shown("k", "j", "k")}, {OPERATIONS: lambda: history})
    assert told == {"it": ["k", "j", "k"]}
    assert history.passes == [["keys in full"]]


def test_a_source_that_nobody_asks_is_never_made() -> None:
    def never() -> Pieces:
        raise AssertionError

    def nothing() -> Inquiry[int]:
        yield from ()
        return 7

    assert answered({"it": nothing()}, {OPERATIONS: never}) == {"it": 7}


def test_what_a_guard_says_anything_of_is_shown_to_nobody_behind_it() -> None:
    def odd(piece: Piece) -> pa.Table:
        return piece.table.filter(pa.array(piece.ints("n") < 0))

    guard = Kernel("no number is negative", ("n",), NUMBER, odd, guards=True)
    told = numbers([1, -2], [3]).gather([guard, adding(1).kernel])
    assert [listed(table) for table in told] == [[-2], [4]]


def dealing(piece: Piece) -> pa.Table:
    return pa.table({GROUP: piece.ints("n") % 5, "n": piece.ints("n")}, schema=DEALT)


@pytest.mark.parametrize("held_bytes", [0, 1 << 20])
@pytest.mark.parametrize("groups", [1, 2, 7])
def test_an_exchange_brings_groups_together_in_memory_and_on_disk(
    held_bytes: int, groups: int
) -> None:
    pieces = LocalPieces(numbers([9, 3, 4, 8], [], [14, 0, 13]).chunks, held_bytes=held_bytes)
    kernel = Kernel("deal", ("n",), DEALT, dealing, ("n",))
    with pieces.exchange({"dealt": kernel}, groups) as exchanged:
        seen: list[list[int]] = []

        def look(piece: Piece) -> pa.Table:
            seen.append(piece.ints("n").tolist())
            return piece.table

        exchanged["dealt"].gather([Kernel("look", ("n",), NUMBER, look)])
    assert len(seen) == groups
    assert sorted(n for group in seen for n in group) == [0, 3, 4, 8, 9, 13, 14]
    for of_five in ([9, 4, 14], [3, 8, 13]):
        assert any(set(of_five) <= set(group) for group in seen)


def texts_of(pieces: LocalPieces, wanted: Ints) -> list[str | None]:
    def ask() -> Inquiry[list[str | None]]:
        text_of = yield from spelled(wanted)
        texts: list[str | None] = text_of(wanted).to_pylist()
        return texts

    told: list[str | None] = answered({"it": ask()}, {OPERATIONS: lambda: pieces})["it"]
    return told


def test_texts_come_back_from_their_fingerprints() -> None:
    values = pa.array(["a", None, "b", "a"])
    pieces = LocalPieces((Held(pa.table({"value": values})), Held(pa.table({"value": ["c"]}))))
    wanted = np.r_[fingerprints(pa.array(["c", "a"])), 0]
    assert texts_of(pieces, wanted) == ["c", "a", None]


def test_two_texts_with_one_fingerprint_are_a_collision(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_alike(self: Piece, name: str) -> Ints:
        return np.ones(self.table[name].length(), dtype=np.int64)

    monkeypatch.setattr(Piece, "fingerprints", all_alike)
    pieces = LocalPieces((Held(pa.table({"value": ["a", "b"]})),))
    with pytest.raises(Collision):
        texts_of(pieces, np.ones(1, dtype=np.int64))


def test_few_texts_are_told_beside_the_first_look_that_reads_them() -> None:
    def shown(word: str) -> Inquiry[list[str]]:
        for says in ("first", "second"):
            counting = Kernel(says, ("key",), NUMBER, lambda it: pa.table({"n": [len(it)]}))
            _ = yield Ask(OPERATIONS, counting)
        number = fingerprints(pa.array([word]))
        text_of = yield from spelled(number, column="key")
        texts: list[str] = text_of(number).to_pylist()
        return texts

    history = Watched(LocalPieces((Held(pa.table({"key": ["k", "j", "k"]})),)))
    assert answered({"it": shown("j")}, {OPERATIONS: lambda: history}) == {"it": ["j"]}
    assert history.passes == [["first", "keys in full"], ["second"]]
