"""The text of an analysis shows the worst rows of each anomaly and how many rows are left out."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checkers.histories.analysis import Analysis, analyze
from checkers.histories.io.operation_rows import as_table
from checkers.report.anomalies import explained
from checkers.report.anomaly_events import keep_rows
from model.history_notation import history

if TYPE_CHECKING:
    from pathlib import Path

MANY_INVERSIONS = as_table(
    history(
        "\n".join(["p1 send k=z -> ok @99", *(f"p1 send k=v{n} -> ok @{n}" for n in range(40))])
    )
)


def tables_of(analysis: Analysis) -> dict[str, pa.Table]:
    return {one.anomaly.id: one.rows for one in analysis.decisions}


def wrapped(prose: str) -> list[str]:
    return textwrap.wrap(prose, 100, initial_indent="  ", subsequent_indent="  ")


def test_a_violation_is_printed_with_its_operations_and_times() -> None:
    table = as_table(
        history("""
            p1  send k=a  -> ok @0
            p1  send k=b  -> ok @1
            c1  poll      -> ok k=a@0 k=c@2
            p2  send k=c  -> ok @2
        """)
    )
    analysis = analyze(table, anomalies=("stale-end-offset", "duplicate", "lost-write"))
    assert explained(analysis).splitlines() == [
        "a table: violated   4 operations, 5 micro-operations",
        "",
        "✗ lost-write   "
        "If any record of a log is read, every earlier write that took effect is read too.",
        *wrapped(f"rule: {analysis.decisions[-1].anomaly.rule}"),
        *wrapped(analysis.decisions[-1].anomaly.explanation),
        "   1. key k: the value b is at offset 1; its send ended ok at 0.000015 ms. A reader had "
        "polled c at offset 2 by 0.000025 ms, but no reader ever polled b.",
        "      sent    operation 1, process 0: send k=b -> ok @1  [0.000010 ms .. 0.000015 ms]",
        "      beyond  operation 2, process 1: poll -> ok k=c@2  [0.000020 ms .. 0.000025 ms]",
    ]


def test_the_number_of_omitted_rows_is_stated() -> None:
    analysis = analyze(MANY_INVERSIONS, anomalies=("offset-order-inversion",))
    assert "… 32 more; these are the worst 8 of 40" in explained(analysis)
    assert " 8. key" in explained(analysis)
    assert " 9. key" not in explained(analysis)
    assert "… 8 more; these are the worst 32 of 40" in explained(analysis, verbose=True)


def test_every_row_is_written_to_a_file(tmp_path: Path) -> None:
    analysis = analyze(MANY_INVERSIONS, anomalies=("offset-order-inversion",))
    kept = keep_rows(tables_of(analysis), tmp_path, "anomalies")
    assert kept == {"offset-order-inversion": "anomalies/offset-order-inversion.parquet"}
    rows = pq.read_table(tmp_path / kept["offset-order-inversion"])
    assert rows.num_rows == 40
    assert set(rows["key"].to_pylist()) == {"k"}


def test_a_history_without_anomalies_writes_no_rows(tmp_path: Path) -> None:
    analysis = analyze(as_table(history("p1 send k=a -> ok @0\nc1 poll -> ok k=a@0")))
    assert keep_rows(tables_of(analysis), tmp_path, "anomalies") == {}
    assert not (tmp_path / "anomalies").exists()


def test_a_broken_assumption_is_printed_with_its_rows() -> None:
    text = explained(analyze(as_table(history("p1 send k=a k=a -> ok @0 @1"))))
    assert "a table: assumptions broken" in text
    assert "assumption broken once: values-are-unique" in text
    assert "  a was sent to k by operations 0, 0" in text


def test_a_history_without_operations_is_no_success() -> None:
    text = explained(analyze(as_table(())))
    assert text.startswith("a table: nothing checked   0 operations, 0 micro-operations")
    assert "✓" not in text


def test_delivery_semantics_are_a_line_and_each_break_a_paragraph() -> None:
    text = explained(
        analyze(
            as_table(
                history("""
                    p1  send k=a k=b k=c  -> ok @0 @1 @2
                    c1  poll{group=g}     -> ok k=a@0
                    c2  poll{group=g}     -> ok k=a@0 k=c@2
                    c3  poll              -> ok k=a@0 k=b@1 k=c@2
                """)
            )
        )
    )
    assert "  delivery semantics: neither (applications: 1 exactly-once, 1 neither)\n" in text
    assert (
        "at-least-once is broken: group g never received b, which operation 0 sent to k at offset "
        "1, though operation 2 received offset 2\n"
        "  sent    operation 0, process 0: send k=b -> ok @1  [0.000000 ms .. 0.000005 ms]\n"
    ) in text
    assert (
        "at-most-once is broken: group g received a of k by operation 1 at offset 0 and again"
        in text
    )


def test_a_history_without_reads_has_no_delivery_semantics() -> None:
    assert "delivery" not in explained(analyze(as_table(history("p1 send k=a -> ok @0"))))


ABORTED_READ = """
    p1  send k=a k=b  -> ok @0 @1
    p1  send k=c      -> fail
    c1  poll          -> ok k=a@0 k=b@1 k=c@2
"""
UNREAD = """
    p1  send k=a k=b  -> ok @0 @1
    c1  poll          -> ok k=a@0
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            ABORTED_READ,
            [
                "  delivery semantics: at-least-once (applications: 1 at-least-once)",
                "  at-most-once is contradicted by G1a: a reader received a record of a write that "
                "failed",
            ],
        ),
        (
            UNREAD,
            [
                "  delivery semantics: at-most-once (applications: 1 at-most-once)",
                "  at-least-once is contradicted by unseen: an acknowledged record was never "
                "received",
            ],
        ),
    ],
)
def test_the_report_names_the_violation_that_contradicts(text: str, lines: list[str]) -> None:
    report = explained(analyze(as_table(history(text))))
    assert report.splitlines()[1:3] == lines
    assert "exactly-once" not in report
