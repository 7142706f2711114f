"""A campaign repeats the searches of the suites on ten seeds. A new campaign begins where the last
one ended.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from properties.suites.registry import SUITES
from properties.suites.suite import inside, outside
from tools.seeds import campaign
from tools.seeds.__main__ import main
from tools.seeds.campaign import SEEDS, Search, conduct, searches
from tools.seeds.page import PAGE, page
from tools.seeds.record import Row, Searched, keep, kept

EVERY = list(searches())


def test_each_seed_has_a_search_inside_and_one_for_each_side_outside() -> None:
    per_seed = sum(1 + len(suite.outside) for suite in SUITES.values())
    assert len({one.key for one in EVERY}) == len(EVERY) == len(SEEDS) * per_seed
    assert {one.seed for one in EVERY[:per_seed]} == {0}


def test_a_claim_that_cannot_be_shown_or_broken_is_in_the_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All readers of a partition see its records in one order. So no run can show the claim that
    two readers see two orders.
    """
    unreachable = inside("order_is_per_partition", "several", "one partition has one order")
    log = SUITES["log"]
    few = replace(campaign.PROFILE, runs=1, rules=1)
    monkeypatch.setattr(campaign, "PROFILE", few)
    suite = replace(log, inside=(unreachable,))
    row = conduct(Search(suite=suite, side=None, seed=3))
    assert row.searched == Searched(suite="log", where="inside", seed=3)
    assert row.other["order_is_per_partition"].startswith("undecided: no run that shows")
    unbroken = outside("consumer_order", "several", "nothing breaks it")
    row = conduct(Search(suite=log, side=unbroken, seed=0))
    assert row.other["consumer_order"] == (
        "undecided: no counterexample in 10 runs of 1 rules (seed 0)"
    )


def test_a_campaign_goes_on_where_its_record_ends(tmp_path: Path) -> None:
    file = tmp_path / "seeds.json"
    rows = [Row(searched=one.key, claims=1) for one in EVERY[1:]]
    keep(rows, file)
    assert kept(file) == {row.searched: row for row in rows}
    assert kept(tmp_path / "none.json") == {}
    assert main(["--record", str(file), "--page"]) == 3
    wrong = Row(searched=EVERY[0].key, claims=2, other={"append_order": "violated: v1 before v0"})
    keep([*rows, wrong], file)
    assert main(["--record", str(file), "--seconds", "0"]) == 1
    text = page(EVERY, kept(file))
    at = wrong.searched
    assert f"- {at.suite}, inside, seed 0: append_order is violated: v1 before v0." in text
    assert f"| {at.suite} | 1 inside | 9 of 10 |" not in text
    assert f"| {at.suite} | 2 inside | 9 of 10 |" in text


def test_the_page_of_the_kept_record_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(EVERY, kept())
