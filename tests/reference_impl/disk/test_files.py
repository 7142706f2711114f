"""Files are replaced at once, and no descriptor stays open."""

from __future__ import annotations

from pathlib import Path

import pytest

from reference_impl.disk.files import append, replace_file

TIMES = 50


def descriptors() -> int:
    return len([*Path("/dev/fd").iterdir()])


@pytest.mark.parametrize("write", [replace_file, append])
def test_a_written_file_is_closed(write: object, tmp_path: Path) -> None:
    assert callable(write)
    before = descriptors()
    for _ in range(TIMES):
        write(tmp_path / "file", b"x", flushes=False)
    assert descriptors() < before + TIMES


def test_a_file_is_replaced_or_grows(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for data in (b"old", b"new"):
        replace_file(file, data)
        assert file.read_bytes() == data
    append(file, b" and more")
    append(file, b".", flushes=True)
    assert file.read_bytes() == b"new and more."
    assert [*tmp_path.iterdir()] == [file]
