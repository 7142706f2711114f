"""Java starts with the archive of Spark's classes, without it, and with one that does not fit."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from checkers import java
from checkers.spark import class_archive
from checkers.spark.class_archive import archive_of, reading, writing


def started(options: str) -> bool:
    home = java.choose().home / "bin" / "java"
    ended = subprocess.run(
        [str(home), *shlex.split(options), "-version"], capture_output=True, text=True, check=True
    )
    assert ended.stdout == ""
    return "version" in ended.stderr


def test_java_writes_an_archive_and_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "a folder" / "classes.jsa"
    file.parent.mkdir()
    assert reading(file) == ""
    assert started(writing(file))
    assert file.stat().st_size > 100_000
    assert str(file) in reading(file)
    assert started(reading(file))


def test_an_archive_that_does_not_fit_is_ignored_without_a_word(tmp_path: Path) -> None:
    file = tmp_path / "classes.jsa"
    file.write_bytes(b"no archive" * 10_000)
    assert started(reading(file))


def test_each_spark_has_an_archive_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = java.choose()
    file = archive_of(chosen)
    assert archive_of(chosen) == file
    monkeypatch.setattr(class_archive, "version", lambda _: "5.0.0")
    assert archive_of(chosen) != file
