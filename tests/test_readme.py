"""The README's picture, figures, commands and links agree with the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from checkers.cli.main import COMMANDS, urteil
from checkers.track_record import kept
from model.specs import all_variants
from properties.anomalies.catalogue import CATALOGUE
from properties.claims.catalogue import CLAIMS
from reference_impl.node.seeded_bugs import SEEDED_BUGS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_picture_is_the_output_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, shown = re.findall(r"^\$ urteil (check .*)\n((?:.*\n)*?)```", README, re.MULTILINE)[0]
    monkeypatch.setattr("sys.argv", ["urteil", *call.split()])
    printed = CliRunner().invoke(urteil, [*call.split(), "--out", str(tmp_path)]).stdout
    assert without_times(shown).strip() in without_times(printed)


def without_times(text: str) -> str:
    return re.sub(r"\d+\.\d\d s\b", "… s", text)


def test_every_bug_has_a_row_in_the_track_record() -> None:
    """`checkers/track_record.json` has one row for each variant that breaks a claim.

    `python -m tools.track_record` writes missing rows.
    """
    assert kept().keys() == {(v.spec, v.name) for v in all_variants() if v.breaks}


def test_the_figures_are_those_of_the_catalogues() -> None:
    variants = [variant.issue for variant in all_variants() if variant.breaks]
    seeded = [bug.source for bug in SEEDED_BUGS if bug.breaks]
    sources = [*variants, *seeded]
    of_jira = sum("KAFKA-" in source for source in sources)
    assert f"- {len(sources)} bugs and variants of the protocol, {of_jira} with a JIRA" in README
    assert f"- {len(CLAIMS)} claims" in README
    assert f"decides {len(CATALOGUE)} anomalies" in README


def test_the_commands_exist() -> None:
    assert set(re.findall(r"\burteil ([a-z]+)\b(?! &&)", README)) <= set(COMMANDS)


def test_the_links_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", README):
        assert (ROOT / target).exists(), target


def test_the_readme_is_short() -> None:
    assert len(README.encode()) <= 8192
