"""The fuzz target reads and analyzes valid histories, and ignores the error of an unreadable
history.

Any other exception is a fault of the reader or of the analysis, and is raised.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from checkers.histories.analysis import Analysis, analyze
from checkers.histories.io.reading import whole
from checkers.histories.io.unreadable import UnreadableHistory
from tools.fuzz import histories
from tools.fuzz.histories import run, valid_inputs

VALID = list(valid_inputs())


@pytest.mark.parametrize("data", VALID, ids=["edn", "ndjson", "parquet", "avro"])
def test_a_valid_history_is_read_and_its_beginning_is_read_or_refused(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[int] = []

    def counted(path: Any) -> pa.Table:
        rows.append((read := whole(path)).num_rows)
        return read

    monkeypatch.setattr(histories, "whole", counted)
    run(data)
    run(data[: len(data) // 2])
    run(b"")
    assert rows[0] >= 4


def test_a_refusal_is_no_fault_but_another_exception_is(monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[str] = []

    def noted(path: Any) -> pa.Table:
        try:
            return whole(path)
        except UnreadableHistory as why:
            refused.append(str(why))
            raise

    monkeypatch.setattr(histories, "whole", noted)
    run(b"\1{")
    assert "line 1" in refused[0]

    def overflow(_: Any) -> None:
        raise OverflowError("seeded")

    monkeypatch.setattr(histories, "whole", overflow)
    with pytest.raises(OverflowError, match="seeded"):
        run(VALID[0])


@pytest.mark.parametrize("data", VALID, ids=["edn", "ndjson", "parquet", "avro"])
def test_a_history_that_is_read_is_analyzed_and_a_damaged_one_is_not(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Analysis] = []
    monkeypatch.setattr(histories, "analyze", lambda path: found.append(analyze(path)))
    run(data[:1] + b"{" + data[1:])
    run(data[: len(data) // 2] if data[0] >= 2 else data[:-4])
    assert found == []
    run(data)
    (analysis,) = found
    assert {one.verdict for one in analysis.decisions} >= {"holds", "not exercised"}


def test_an_exception_of_the_analysis_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def divided(_: Any) -> None:
        raise ZeroDivisionError("seeded")

    monkeypatch.setattr(histories, "analyze", divided)
    with pytest.raises(ZeroDivisionError, match="seeded"):
        run(VALID[1])
    monkeypatch.setattr(histories, "ANALYZED", whole_rows(VALID[1]) - 1)
    run(VALID[1])  # too large to be analyzed


def whole_rows(data: bytes) -> int:
    return len(data.splitlines())
