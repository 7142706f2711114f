"""The recorders' histories keep the format, and show a bug of the broker on which they ran.

`make recorders` builds the recorders and records new histories; the tests read stored ones.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tools.recorders import CASES, OF_SAMPLES, RECORDERS, SAMPLES, faults


@pytest.mark.parametrize("name", RECORDERS)
def test_a_recorded_history_shows_the_lost_records(name: str) -> None:
    assert faults(SAMPLES / f"{name}.ndjson", OF_SAMPLES) == []


def test_histories_of_both_recorders_are_one_history() -> None:
    assert len(list(SAMPLES.glob("*.ndjson"))) == len(RECORDERS)
    # two runs on two topics of the same name: offsets name two records
    found = faults(SAMPLES, replace(OF_SAMPLES, anomalies=frozenset({"inconsistent-offsets"})))
    assert found == []


def test_a_difference_from_the_case_is_a_fault(tmp_path: Path) -> None:
    sample = SAMPLES / "java.ndjson"
    assert "lost-write was found" in faults(sample, CASES[0])
    other = replace(OF_SAMPLES, anomalies=frozenset({"G1a"}))
    assert faults(sample, other) == ["G1a was not found"]
    broken = tmp_path / "broken.ndjson"
    broken.write_text(sample.read_text().replace('"offset":0,', '"offset":-1,', 1))
    (fault,) = faults(broken, OF_SAMPLES)
    assert "row 1: column offset is negative" in fault
