"""A Parquet file is read with little memory, however many rows its footer declares.

h.parquet has 8 rows, its row group declares 310,163,469,944
→ this is no complete Parquet file (the footer declares 8 rows, and its row groups …)
"""

from __future__ import annotations

import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from checkers.histories.io import parquet_files
from checkers.histories.io.parquet_files import opened, table_of, tables_of
from checkers.histories.io.reading import parquet_parts, whole
from checkers.histories.io.recorded import METADATA, part_path
from checkers.histories.io.unreadable import UnreadableHistory
from model.histories import COLUMNS, SCHEMA_VERSION
from tests.checkers.histories.io.test_damaged import DEMO

ROWS = 8
MANY = 310_163_469_944
SPARE = 2 << 30  # bytes
# The fields before and after the number of rows, in Thrift's compact protocol
OF_FILE, OF_GROUP, OF_COLUMN = (b"\x16", b"\x19"), (b"\x16", b"\x26"), (b"\x16", b"\x16")


@pytest.fixture(scope="module")
def eight(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("eight") / "h.parquet"
    pq.write_table(whole(DEMO).slice(0, ROWS), path)
    return path.read_bytes()


def varint(number: int) -> bytes:
    """Returns a signed integer as Thrift writes it: zigzag, seven bits in each byte."""
    left, some = number << 1, bytearray()
    while left > 127:
        some.append(left & 127 | 128)
        left >>= 7
    return bytes([*some, left])


def declaring(content: bytes, *places: tuple[bytes, bytes], rows: int = MANY) -> bytes:
    """Returns a Parquet file whose footer declares `rows` rows, and not the real number. `places`
    are the bytes before and after each changed number.
    """
    size = int.from_bytes(content[-8:-4], "little")
    footer = content[-8 - size : -8]
    for before, after in places:
        at = before + varint(ROWS) + after
        assert footer.count(at) == (len(COLUMNS) if (before, after) == OF_COLUMN else 1)
        footer = footer.replace(at, before + varint(rows) + after)
    return content[: -8 - size] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


@contextmanager
def little_memory() -> Generator[None]:
    """Lets this process allocate at most 2 GiB more memory. A larger allocation fails."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    has = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (has + SPARE, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def refused(read: Any, path: Path) -> str:
    with little_memory(), pytest.raises(UnreadableHistory) as fault:
        read(path)
    return str(fault.value)


@pytest.mark.parametrize(
    ("places", "why"),
    [
        ([OF_GROUP], f"the footer declares 8 rows, and its row groups {MANY:,}"),
        ([OF_FILE], f"the footer declares {MANY:,} rows, and its row groups 8"),
        ([OF_GROUP, OF_FILE], f"the footer declares {MANY:,} rows, and there are 8"),
        ([OF_GROUP, OF_FILE, OF_COLUMN], f"the footer declares {MANY:,} rows, and there are 8"),
    ],
    ids=["in a row group", "in the file", "in both", "in its columns too"],
)
def test_rows_that_only_the_footer_has_need_no_memory(
    places: list[tuple[bytes, bytes]], why: str, eight: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "h.parquet"
    path.write_bytes(declaring(eight, *places))
    assert why in refused(whole, path)
    assert why in refused(lambda it: parquet_parts(it, tmp_path / "parts"), path)


@pytest.mark.parametrize("rows", [3, 9, 2_000_000])
def test_no_row_is_lost_if_the_footer_declares_another_number(
    rows: int, eight: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "h.parquet"
    path.write_bytes(declaring(eight, OF_GROUP, OF_FILE, rows=rows))
    for read in (whole, lambda it: parquet_parts(it, tmp_path / "parts")):
        assert f"the footer declares {rows:,} rows, and there are 8" in refused(read, path)


def test_a_part_of_a_recording_needs_no_memory_either(eight: bytes, tmp_path: Path) -> None:
    tmp_path.joinpath(METADATA).write_text(f'{{"schema_version": {SCHEMA_VERSION}}}')
    part_path(tmp_path, 0).write_bytes(declaring(eight, OF_GROUP, OF_FILE))
    assert f"declares {MANY:,} rows, and there are 8" in refused(whole, tmp_path)


@pytest.mark.parametrize("at_once", [3, 8])
def test_all_rows_are_read(
    at_once: int, eight: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_files, "ROWS_AT_ONCE", at_once)
    path = tmp_path / "h.parquet"
    path.write_bytes(eight)
    with opened(path) as file:
        assert [some.num_rows for some in tables_of(file)] == ([3, 3, 2] if at_once == 3 else [8])
        assert table_of(file).schema.names == [*COLUMNS]
        assert table_of(file, ["op"]) == pq.read_table(path, columns=["op"])
