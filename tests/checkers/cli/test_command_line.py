"""The command line as a user sees it: help texts, the first screen, and errors after typos."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from checkers.cli.main import COMMANDS, load, main

HEAVY = ("pyspark", "z3", "hypothesis", "pyarrow", "numpy", "networkx", "confluent_kafka", "kio")

MAIN = "from checkers.cli.main import main; main()"


def urteil(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-c", MAIN, *words]
    return subprocess.run(call, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def test_help_lists_the_exit_codes_and_imports_nothing_heavy(tmp_path: Path) -> None:
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
    assert "a bug of Urteil" in done.stdout


def test_urteil_without_arguments_prints_the_first_screen(tmp_path: Path) -> None:
    done = urteil(cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("Urteil checks the guarantees of Kafka")
    assert "urteil verify" in done.stdout
    assert "docs/tutorial.md" in done.stdout
    assert done.stdout.isascii()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["chekc"], "urteil: no command 'chekc'; the nearest: check"),
        (["--josn"], "urteil: No such option '--josn'"),
        (["doctor", "--sed", "1"], "urteil doctor: No such option '--sed'"),
        (
            ["check", "transactions", "--bug", "x"],
            "urteil check: no option --bug: a bug of a spec is",
        ),
        (["analyze", "--bug", "x"], "urteil analyze: No such option '--bug'"),
        (["doctor", "--seed", "-1"], "urteil doctor: Invalid value for '--seed'"),
    ],
)
def test_a_wrong_word_ends_with_one_line_and_exit_code_2(
    words: list[str], message: str, tmp_path: Path
) -> None:
    done = urteil(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_an_example_and_explains_options_and_exit_codes(
    name: str,
) -> None:
    command = load(name)
    output = command.get_help(click.Context(command, info_name=name))
    assert f"urteil {name}" in output
    assert "undecided: budget spent" in output
    assert all(p.help for p in command.params if isinstance(p, click.Option))


@pytest.mark.parametrize("name", ["test", "conform", "record"])
def test_a_help_explains_the_system_served(name: str) -> None:
    output = load(name).get_help(click.Context(load(name), info_name=name))
    assert "served (the reference broker over TCP)" in " ".join(output.split())


def test_a_closed_stdout_ends_the_output_and_not_the_run(tmp_path: Path) -> None:
    words = "check transactions-abstract --variant v1; echo $? > code"
    call = f"( {shlex.quote(sys.executable)} -c '{MAIN}' {words} ) | head -1"
    done = subprocess.run(
        call, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("✗ no_hanging_transaction")
    assert (tmp_path / "code").read_text() == "1\n"
    (folder,) = (tmp_path / "runs").glob("2*")
    assert (folder / "report.html").exists()


def test_a_closed_stdout_is_not_a_bug(tmp_path: Path) -> None:
    call = f"{shlex.quote(sys.executable)} -c '{MAIN}' list claims | head -1"
    done = subprocess.run(
        call, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_a_terminal_that_cannot_encode_our_signs_gets_plain_ones(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "check", "transactions-abstract", "--variant", "v1"],
        cwd=tmp_path,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith(b"x no_hanging_transaction  violated after 6 steps")
    assert b"?" not in done.stdout


def test_progress_is_one_live_line_that_is_erased(tmp_path: Path) -> None:
    master, terminal = pty.openpty()
    call = [sys.executable, "-c", MAIN, "check", "--set", "log_size=3", "--budget", "2s"]
    with subprocess.Popen(call, cwd=tmp_path, stdout=subprocess.PIPE, stderr=terminal) as process:
        os.close(terminal)
        assert process.stdout is not None
        results = process.stdout.read().decode()
    shown = os.read(master, 100_000).decode()
    os.close(master)
    assert "states, depth" in shown
    live, erased, notes = shown.rpartition("\r\x1b[K")
    assert erased
    assert "\n" not in live
    assert "states/s" not in notes  # below the erased line: in which Kafka the variant is in force
    assert "\r" not in results


def test_a_bug_of_urteil_before_a_run_is_reported_as_a_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("by us")

    monkeypatch.setattr("checkers.cli.configuration.defaults", broken)
    monkeypatch.setattr("sys.argv", ["urteil", "doctor"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 4
    assert "by us" in capsys.readouterr().err
