"""The fuzz target reads valid histories, and ignores the error of an unreadable history.

Any other exception is a fault of the reader, and is raised.
"""

from __future__ import annotations

from typing import Any

import pytest

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

    def counted(path: Any) -> None:
        rows.append(whole(path).num_rows)

    monkeypatch.setattr(histories, "whole", counted)
    run(data)
    run(data[: len(data) // 2])
    run(b"")
    assert rows[0] >= 4


def test_a_refusal_is_no_fault_but_another_exception_is(monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[str] = []

    def noted(path: Any) -> None:
        try:
            whole(path)
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
