"""The reference pages are equal to what the code generates; `make docs` checks their links."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from checkers.cli import catalogue
from checkers.conform.families import FAMILIES
from checkers.conform.reasons import REASONS
from checkers.counterexample_record import kept
from checkers.histories.analysis import analyze
from tools import reference

HOW_TO = Path(__file__).parents[1] / "docs" / "how-to"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("reference")
    (folder / "left-over.md").write_text("of an earlier run")
    reference.main(folder)
    return {page.stem: page.read_text() for page in folder.glob("*.md")}


def test_every_name_of_every_kind_has_a_section(pages: dict[str, str]) -> None:
    of_kind = {kind: page for page, (_, kinds, _) in reference.PAGES.items() for kind in kinds}
    assert of_kind.keys() == catalogue.KINDS.keys()
    for kind, page in of_kind.items():
        headings = set(re.findall(r"^### (.+)$", pages[page], re.MULTILINE))
        assert {row.item for row in catalogue.rows(kind)} <= headings


def test_each_bug_and_old_version_shows_the_actions_of_its_counterexample(
    pages: dict[str, str],
) -> None:
    for (_, variant), found in kept().items():
        sections = [pages[page].partition(f"### {variant}\n")[2] for page in ("bugs", "versions")]
        assert any(f"```text\n{found}\n```" in section for section in sections), variant


def test_the_index_leads_to_every_page_and_old_pages_are_gone(pages: dict[str, str]) -> None:
    assert set(re.findall(r"^([a-z-]+)$", pages["index"], re.MULTILINE)) == pages.keys() - {"index"}


def test_every_known_difference_from_kafka_has_a_row(pages: dict[str, str]) -> None:
    rows = set(re.findall(r"^\| ([a-z0-9-]+) \|", pages["differences"], re.MULTILINE))
    assert {reason.name for reason in REASONS} | FAMILIES.keys() <= rows


def test_text_with_the_signs_of_markdown_is_shown_as_it_is() -> None:
    assert reference.escaped("min_isr < 2 | *all*") == r"min\_isr \< 2 \| \*all\*"


def test_the_history_of_the_how_to_is_one_that_analyze_accepts(tmp_path: Path) -> None:
    blocks = re.findall(r"```json\n(.*?)```", (HOW_TO / "your-history.md").read_text(), re.DOTALL)
    rows = [json.loads(line) for line in blocks[0].splitlines()]
    assert [row["kind"] for row in rows] == ["send", "poll"]
    file = tmp_path / "history.ndjson"
    file.write_text(blocks[0])
    found = analyze(file)
    assert not found.broken
    assert not any(decision.count for decision in found.decisions)
