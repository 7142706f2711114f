"""The table of a release has a line for each claim that does not hold, with its fix."""

from __future__ import annotations

from typing import Any

from checkers.events import ReleaseDecided
from checkers.report.release_table import release_table, verdict_of_release


def row(claim: str, **fields: Any) -> ReleaseDecided:
    given: dict[str, Any] = {"verdict": "holds", **fields}
    return ReleaseDecided(release="4.3", spec="quorum", variant="kafka-4.3", claim=claim, **given)


FALSE = row("one_leader", verdict="violated", steps=1, fixed_by="fixed", fixed_verdict="holds")
OPEN = row("a_leader_resigns", verdict="undecided")
WITHOUT = ReleaseDecided(release="4.3", spec="retention", reason="there was no DeleteRecords")


def test_claims_that_hold_share_a_line() -> None:
    rows = [row("a"), FALSE, OPEN, row("b"), WITHOUT]
    assert release_table(rows).splitlines() == [
        "Kafka 4.3",
        "  quorum",
        "    ✗ one_leader        violated in kafka-4.3, 1 step  holds in fixed",
        "    ? a_leader_resigns  undecided in kafka-4.3",
        "    ✓ 2 claims hold in kafka-4.3",
        "  retention",
        "    - there was no DeleteRecords",
    ]


def test_with_verbose_each_claim_has_a_line() -> None:
    assert release_table([row("a"), row("b")], verbose=True).splitlines()[2:] == [
        "    ✓ a  holds in kafka-4.3",
        "    ✓ b  holds in kafka-4.3",
    ]


def test_without_rows_the_table_is_empty() -> None:
    assert release_table([]) == ""


def test_a_verdict_fits_on_one_line_of_a_report() -> None:
    assert verdict_of_release(FALSE) == "violated in kafka-4.3, 1 step; holds in fixed"
    assert verdict_of_release(row("a")) == "holds in kafka-4.3"
    assert verdict_of_release(WITHOUT) == "there was no DeleteRecords"
