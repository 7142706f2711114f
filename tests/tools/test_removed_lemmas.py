"""The record of removed lemmas names only lemmas that exist, and docs/how-to/your-proof.md has the
record's figures.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from model.language import Spec
from tests.checkers.lemmas.lease import Lease, WithAnInductiveLemma
from tools.removed_lemmas import ALL, Case, cases, conduct, keep, kept, table

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "your-proof.md"


def test_the_page_has_the_table_of_the_record() -> None:
    rows = kept()
    assert len(rows) > 20
    assert rows.keys() <= set(cases())
    assert table(rows) in PAGE.read_text(encoding="utf-8")


def test_what_proves_the_claims_is_in_the_record() -> None:
    for row in kept().values():
        assert bool(row.lemmas) == bool(row.proves)
        assert bool(row.missing) == (row.result == "not found")


@pytest.mark.parametrize(
    ("spec", "removed", "result", "seconds"),
    [
        (WithAnInductiveLemma(), "believers_hold", "found again", 20.0),
        (WithAnInductiveLemma(), ALL, "found again", 20.0),
        (Lease(), ALL, "not found", 0.0),
    ],
)
def test_a_case_removes_lemmas_and_searches_for_others(
    spec: Spec, removed: str, result: str, seconds: float, tmp_path: Path
) -> None:
    row = conduct(Case(spec="lease", version="own", removed=removed), spec, seconds)
    assert row.result == result
    assert (row.why == "the budget is spent") == (result == "not found")
    keep([row], tmp_path / "record.json")
    assert kept(tmp_path / "record.json") == {row.case: row}
