"""The command line as its user meets it: help, wrong words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("pyspark", "z3", "hypothesis", "pyarrow", "numpy", "networkx", "confluent_kafka", "kio")


def urteil(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-c", "from checkers.cli.main import main; main()", *words]
    return subprocess.run(call, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def test_help_tells_the_exit_codes_and_imports_nothing_heavy(tmp_path: Path) -> None:
    program = (
        "import sys; sys.argv = ['urteil', '--help']\n"
        "from checkers.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0, end.code\n"
        f"found = [m for m in {HEAVY!r} if m in sys.modules]\n"
        "assert not found, found\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "130" in done.stdout
    assert "our own bug" in done.stdout


def test_without_a_word_it_shows_the_first_screen(tmp_path: Path) -> None:
    done = urteil(cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: urteil")
    assert "urteil verify" in done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["chekc"], "urteil: no command 'chekc'; the nearest: check"),
        (["--josn"], "urteil: No such option '--josn'"),
        (["doctor", "--sed", "1"], "urteil doctor: No such option '--sed'"),
        (["doctor", "--seed", "-1"], "urteil doctor: Invalid value for '--seed'"),
    ],
)
def test_a_wrong_word_is_one_line_and_exit_2(words: list[str], says: str, tmp_path: Path) -> None:
    done = urteil(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(says)
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
