"""Files are read ahead by several threads, and arrive in order."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from checkers.histories.io import reading_ahead
from checkers.histories.io.locations import Place, UnreadableLocation
from checkers.histories.io.reading_ahead import LOCAL_FILES_AT_ONCE, read_in_order
from checkers.histories.io.sources import Reader
from checkers.histories.io.unreadable import UnreadableHistory


def files(folder: Path, count: int) -> list[Path]:
    made = [folder / f"{number:03}" for number in range(count)]
    for number, file in enumerate(made):
        file.write_text(str(number))
    return made


def numbers(place: Place) -> Iterator[pa.Table]:
    """Reads a number from the text file `place`. Yields two tables that contain this number."""
    for _ in "12":
        yield pa.table({"op": [int(place.read_text())]})


def found(read: Reader, some: list[Path]) -> list[tuple[str, list[int]]]:
    return [
        (place.name, [table["op"][0].as_py() for table in tables])
        for place, tables in read_in_order([(read, file) for file in some])
    ]


@pytest.mark.parametrize("count", [1, 2, 50])
@pytest.mark.parametrize("small_bytes", [0, 1 << 20])
def test_files_arrive_in_order(
    tmp_path: Path, count: int, small_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_ahead, "SMALL_FILE_BYTES", small_bytes)
    assert found(numbers, files(tmp_path, count)) == [
        (f"{number:03}", [number, number]) for number in range(count)
    ]


def test_small_files_are_read_at_once_and_large_ones_in_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = threading.Barrier(LOCAL_FILES_AT_ONCE, timeout=30)
    at_once: list[str] = []

    def meeting(place: Place) -> Iterator[pa.Table]:
        together.wait()
        yield from numbers(place)

    def noted(place: Place) -> Iterator[pa.Table]:
        at_once.append(place.name)
        yield from numbers(place)

    some = files(tmp_path, 4 * LOCAL_FILES_AT_ONCE)
    assert len(found(meeting, some)) == len(some)
    monkeypatch.setattr(reading_ahead, "SMALL_FILE_BYTES", 0)
    for number, (place, tables) in enumerate(read_in_order([(noted, file) for file in some])):
        assert at_once == [file.name for file in some[:number]]
        assert (place, len(list(tables))) == (some[number], 2)


def test_the_first_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    def odd(place: Place) -> Iterator[pa.Table]:
        if int(place.read_text()) in {3, 4, 9}:
            raise UnreadableHistory(f"{place.name}: odd")
        yield from numbers(place)

    for _ in range(20):
        with pytest.raises(UnreadableHistory, match="003: odd"):
            found(odd, files(tmp_path, 12))


@pytest.mark.parametrize("count", [1, 3])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, count: int) -> None:
    def changing(place: Place) -> Iterator[pa.Table]:
        yield from numbers(place)
        if place.name == f"{count - 1:03}":
            (tmp_path / place.name).write_text("1234")

    with pytest.raises(UnreadableLocation, match=f"{count - 1:03}: the file changed while it was"):
        found(changing, files(tmp_path, count))
