"""A bug is caught if the variant with the bug violates its claim. The variant without the bug must
keep this claim.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checkers import track_record
from model.specs import find
from tools.track_record.catching import catch
from tools.track_record.table import rows


def test_a_bug_is_caught_and_its_fix_holds() -> None:
    caught = catch(find("retention", "leaves-high-watermark-behind"))
    assert (caught.verdict, caught.fixed_verdict) == ("violated", "holds")
    assert str(caught) == "in 5 steps, 616 states; kip-107 holds in all 8,964"


def test_a_claim_about_behaviours_is_decided_on_the_whole_graph() -> None:
    bug = find("consumer-group", "refuses-return")
    caught = catch(replace(bug, at={"epochs": 3}))
    assert (caught.verdict, caught.fixed_verdict) == ("violated", "holds")


def test_a_correct_variant_is_not_caught() -> None:
    sound = replace(find("retention"), breaks="log_start_is_committed")
    assert catch(sound).verdict == "holds"


def test_a_variant_that_fixes_nothing_is_reported() -> None:
    bug = find("retention", "leaves-high-watermark-behind")
    caught = catch(replace(bug, fixed_by="expires-uncommitted"))
    assert (caught.fixed_by, caught.fixed_verdict) == ("expires-uncommitted", "violated")


def test_the_record_is_read_as_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught = catch(find("retention", "expires-uncommitted"))
    monkeypatch.setattr(track_record, "KEPT", tmp_path / "record.json")
    track_record.keep([caught])
    assert track_record.kept() == {("retention", "expires-uncommitted"): caught}
    engines = {(row[4], row[0]): row[-1] for row in rows()}
    assert engines["retention", "expires-uncommitted"] == f"exploration, {caught}"
    assert engines["retention", "cleans-past-hw"] == "not run yet"
