"""The events of `urteil analyze --json` include the delivery semantics of a history."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from checkers.histories.io.operation_rows import as_table
from model.history_notation import history
from tests.checkers.cli.conftest import Call


def test_one_event_has_the_semantics_and_the_breaches_of_stronger_ones(
    call: Call, tmp_path: Path
) -> None:
    file = tmp_path / "history.parquet"
    text = """
        p1  send k=a k=b     -> ok @0 @1
        c1  poll{group=g}    -> ok k=a@0 k=b@1
        c2  poll{group=g}    -> ok k=b@1
        c3  poll             -> ok k=a@0 k=b@1
    """
    pq.write_table(as_table(history(text)), file)
    output = call("analyze", str(file), "--engine", "local")
    (delivery,) = output.named("delivery_decided")
    assert delivery == {
        "v": 2,
        "event": "delivery_decided",
        "history": str(file),
        "semantics": "at-least-once",
        "applications": {"at-least-once": 1, "exactly-once": 1},
        "records": 4,
        "repeated": 1,
        "skipped": 0,
        "breaks": [
            "at-most-once is broken: group g received b of k by operation 1 at offset 1 "
            "and again by operation 2 at offset 1"
        ],
    }
    assert output.exit_code == 0  # the semantics are reported, not judged
    chosen = call("analyze", str(file), "--engine", "local", "--anomaly", "duplicate")
    assert chosen.named("delivery_decided") == []
