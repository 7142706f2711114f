"""A fixture that analyzes a history with the command line in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from checkers.cli.main import urteil
from checkers.histories.io.operation_rows import as_table
from model.history_notation import history

Analysed = Callable[..., Path]


@pytest.fixture
def analysed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Analysed:
    """Returns a function: `analysed("p1 send k=a -> ok @0", "--json")` returns the run folder."""

    def analysing(of: str | pa.Table, *options: str) -> Path:
        monkeypatch.chdir(tmp_path)
        table = as_table(history(of)) if isinstance(of, str) else of
        pq.write_table(table, "history.parquet")
        words = ["analyze", "history.parquet", "--engine", "local", "--quiet", *options]
        monkeypatch.setattr("sys.argv", ["urteil", *words])
        result = CliRunner().invoke(urteil, words)
        if not isinstance(result.exception, SystemExit | None):
            raise result.exception
        assert result.exit_code in (0, 1, 3), result.output
        (folder,) = (tmp_path / "runs").glob("2*")
        return folder

    return analysing
