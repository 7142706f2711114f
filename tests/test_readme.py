"""The README is true: its picture, its table and its commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from checkers.cli.main import COMMANDS, urteil
from checkers.report.track_record import table
from checkers.track_record import kept
from checkers.verdicts import EXIT_CODES
from model.specs import VARIANTS
from model.variants import Variant
from properties.suites.registry import SUITES
from reference_impl.node.seeded_bugs import SEEDED_BUGS, SeededBug

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_picture_is_what_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, shown = re.findall(r"^\$ urteil (check .*)\n((?:.*\n)*?)```", README, re.MULTILINE)[0]
    monkeypatch.setattr("sys.argv", ["urteil", *call.split()])
    printed = CliRunner().invoke(urteil, [*call.split(), "--out", str(tmp_path)]).stdout
    assert lasting(shown).strip() in lasting(printed)


def lasting(text: str) -> str:
    """The text without what differs from run to run."""
    return re.sub(r"\d+\.\d\d s\b", "… s", text)


def test_the_track_record_is_generated_and_complete() -> None:
    """Every row was run: `python -m tools.track_record` writes the table."""
    assert table() in README
    assert kept().keys() == {(v.spec, v.name) for v in VARIANTS if v.breaks}
    rows: tuple[Variant | SeededBug, ...] = (*VARIANTS, *SEEDED_BUGS)
    for row in rows:
        assert (f"| {row.name} |" in README) == bool(row.breaks)


def test_the_suites_are_told_as_the_list_tells_them() -> None:
    assert "\n".join(f"| {suite.name} | {suite.says} |" for suite in SUITES.values()) in README


def test_the_exit_codes_and_the_commands_are_those_that_exist() -> None:
    told = dict(re.findall(r"^\| (\d+) \| (.*) \|$", README, re.MULTILINE))
    assert told == {str(code): says for code, says in EXIT_CODES.items()}
    assert set(re.findall(r"\burteil ([a-z]+)\b", README)) <= set(COMMANDS)
