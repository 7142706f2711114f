"""The examples in the docstrings of kernels are true.

An example is a history in the notation of `model.history_notation`, and what the kernel makes of
it. After two blanks or more, a line of the history may have a note, such as `op 3`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from checkers.histories.analysis import analyze
from checkers.histories.anomalies.cycles import cycle_search, cycles
from checkers.histories.anomalies.cycles.cycle_search import EVERYTHING, KIND_OF
from checkers.histories.anomalies.cycles.time_ranges import TimeRanges
from checkers.histories.anomalies.delivery.delivery_kernels import delivered_offsets, extents
from checkers.histories.anomalies.order import process_order, step_rows
from checkers.histories.anomalies.transactions.first_reads import first_reads
from checkers.histories.columnar.fingerprints import fingerprints
from checkers.histories.io.operation_rows import as_table
from checkers.histories.plan.batch import Batch
from model.histories import History
from model.history_notation import history
from properties.anomalies.declarations import NOTHING_DECLARED
from tests.checkers.histories.drawn_histories import analysed
from tests.checkers.histories.plans import result_of, shuffled

PACKAGE = Path(process_order.__file__).parents[1]
LINE = re.compile(
    r" {4}(batch \d+ +)?(?P<line>[a-z]\d (.*?-> \S+(?: \S+)*|.*\.\.\.))( {2,}(?P<note>\S.*))?"
)
TEXTS = pa.array([*"abcijko"])
TEXT_OF = dict(zip(fingerprints(TEXTS).tolist(), TEXTS.to_pylist(), strict=True))


def doc(module: str) -> str:
    return importlib.import_module(f"checkers.histories.anomalies.{module}").__doc__ or ""


def lines_of(module: str) -> list[re.Match[str]]:
    """Returns the lines of the history in a module's docstring."""
    return [found for line in doc(module).splitlines() if (found := LINE.fullmatch(line))]


DRAWN = [
    module
    for file in sorted(PACKAGE.rglob("*.py"))
    for module in [".".join(file.relative_to(PACKAGE).with_suffix("").parts)]
    if file.stem != "__init__" and any("->" in found["line"] for found in lines_of(module))
]


@pytest.mark.parametrize("module", DRAWN)
def test_an_example_is_a_history_and_has_the_numbers_of_its_operations(module: str) -> None:
    found = lines_of(module)
    assert history("\n".join(line["line"] for line in found))
    notes = [line["note"] or "" for line in found if "->" in line["line"]]
    numbers = [re.match(r"op (\d+)\b", note) for note in notes]
    for place, number in enumerate(numbers):
        assert number is None or int(number[1]) == place, notes[place]


# ---------------------------------------------------------------- what the kernels make of them


def of_delivery_kernels(h: History) -> Iterator[str]:
    batch = Batch(as_table(h))
    for row in delivered_offsets("ok", batch).to_pylist():
        bits, again = (
            " ".join(str(n) for n in range(64) if row[name] >> n & 1)
            for name in ("bits", "repeated")
        )
        more = f", repeated {again}" if again else ""
        yield f"word {row['word']} of {TEXT_OF[row['key']]}: bits {bits}{more}"
    for row in extents(batch).to_pylist():
        low, high = f"lowest offset {row['low']}", f"highest offset {row['high']}"
        yield f"extents {TEXT_OF[row['key']]}: {low}, {high}, polled by op {row['high_op']}"


def of_step_rows(h: History) -> Iterator[str]:
    names = {getattr(step_rows, it): it for it in ("WITHIN", "BETWEEN", "PARTS", "HEAD", "TAIL")}
    names |= {step_rows.COUNTED + n: f"COUNTED + {names[n]}" for n in (0, 1)}
    counts: dict[str, int] = {}
    (first, *_) = results_of(
        process_order, "steps", lambda: analysed(h, ("poll-skip",), NOTHING_DECLARED, [3])
    )
    for row in first.to_pylist():
        if row["kind"] == step_rows.POLLS:
            name, skipped = names[row["row_type"]], row["skipped_count"]
            before, second = (
                f"op {row[f'{end}_op']} offset {row[f'{end}_offset']}"
                for end in ("first", "second")
            )
            if name in ("WITHIN", "BETWEEN"):
                yield f"{name} {before}, {second}, skipped {skipped}"
            elif name in ("HEAD", "TAIL"):
                yield f"{name} {second}"
            else:
                counts[name] = counts.get(name, 0) + skipped
    yield from (f"{name} {count}" for name, count in counts.items())


def results_of(module: Any, name: str, run: Callable[[], object]) -> list[Any]:
    """Returns what each call of a module's function returned during a run."""
    results: list[Any] = []

    def recorded(*arguments: Any) -> Any:
        results.append(function(*arguments))
        return results[-1]

    function = getattr(module, name)
    with patch.object(module, name, recorded):
        run()
    return results


def of_cycle_search(h: History) -> Iterator[str]:
    graphs = results_of(cycles, "_graph", lambda: analyze(as_table(h), anomalies=(EVERYTHING,)))
    (graph,) = graphs
    ops = graph.of.numbers
    for first, second, kind in zip(graph.first, graph.second, graph.kind, strict=True):
        yield f"{KIND_OF[kind]} op {ops[first]} -> op {ops[second]}"
    _, _, (completions, after) = cycle_search._real_time_edges(graph.of)
    for completion, second in zip(completions, after, strict=True):
        first = f"op {ops[completion - len(ops)]}"
        yield f"real time {first} -> completion of {first} -> op {ops[second]}"
    for form, some in cycle_search.cycles(graph).items():
        for one in some:
            shown = ", ".join(f"op {op}" for op in one.cycle)
            yield f"{form} cycle {shown}; component of {one.component}"


def of_cycles(h: History) -> Iterator[str]:
    def dependencies(table: pa.Table) -> str:
        rows = sorted(table.to_pylist(), key=lambda row: row["first"])
        return ", ".join(
            f"{KIND_OF[row['kind']]} op {row['first']} -> op {row['second']}" for row in rows
        )

    def run() -> None:
        analyze(as_table(h), anomalies=("G1c",))

    (back,) = results_of(cycles, "dependencies_back_in_time", run)
    (near,) = results_of(cycles, "inside_time_ranges", run)
    (ranges,) = results_of(TimeRanges, "of", run)
    yield f"stage 1 {dependencies(back)}: range {ranges.begin[0]}..{ranges.end[0]}"
    yield f"stage 2 {dependencies(near)}"
    (cycle,) = decided(h, "G1c")
    yield f"stage 3 G1c {', '.join(f'op {op}' for op in cycle['ops'])}"
    steps = zip(cycle["kinds"], cycle["keys"], cycle["values"], strict=True)
    yield f"stage 4 {', '.join(f'{kind} {key}={value}' for kind, key, value in steps)}"


def decided(h: History, anomaly: str) -> list[dict[str, Any]]:
    analysis = analyze(as_table(h), anomalies=(anomaly,))
    assert not analysis.broken
    rows: list[dict[str, Any]] = analysis.decisions[0].rows.to_pylist()
    return rows


def of_transactions(h: History) -> Iterator[str]:
    for row in decided(h, "open-transaction-read"):
        read = f"read by op {row['reader_op']} at {row['read_ns']} ns"
        end = f"the end was requested at {row['asked_ns']} ns"
        yield f"open-transaction-read {row['value']} of op {row['op']}, {read}; {end}"
    for row in decided(h, "torn-transaction"):
        where = (
            f"at offset {row['offset']}, below {row['read_offset']}, read by op {row['reader_op']}"
        )
        shown = f"op {row['shown_op']} read {row['shown_value']}"
        yield f"torn-transaction {row['value']} of op {row['op']} {where}; {shown}"


def of_atomic_offsets(h: History) -> Iterator[str]:
    for row in decided(h, "output-without-offset"):
        fetched = f"op {row['op']} fetched {row['offset']} of {row['key']}"
        committed = f"op {row['transaction_op']} committed {row['committed_offset']}"
        shown = f"op {row['shown_op']} read {row['shown_value']}"
        yield f"output-without-offset {fetched}, {committed}, {shown}"
    for row in decided(h, "offset-without-output"):
        fetched = f"op {row['fetch_op']} fetched {row['committed_offset']} of {row['input_key']}"
        missing = f"op {row['reader_op']} read above {row['value']}"
        yield f"offset-without-output {fetched}, which op {row['op']} committed; {missing}"


def of_first_reads(h: History) -> Iterator[str]:
    with shuffled(h, NOTHING_DECLARED, 100, 1) as sources:
        found = result_of(first_reads(np.array([0])), sources)
    for op, (reader, (key, value)) in found.items():
        yield f"first read of op {op} op {reader}, {TEXT_OF[key]}={TEXT_OF[value]}"


@pytest.mark.parametrize(
    ("module", "kernels"),
    [
        ("cycles.cycle_search", of_cycle_search),
        ("cycles.cycles", of_cycles),
        ("delivery.delivery_kernels", of_delivery_kernels),
        ("order.step_rows", of_step_rows),
        ("transactions.atomic_offsets", of_atomic_offsets),
        ("transactions.first_reads", of_first_reads),
        ("transactions.transactions", of_transactions),
    ],
)
def test_an_example_shows_what_the_kernels_make_of_it(
    module: str, kernels: Callable[[History], Iterator[str]]
) -> None:
    text = " ".join(doc(module).split())
    made = [*kernels(history("\n".join(line["line"] for line in lines_of(module))))]
    assert made
    assert [line for line in made if line not in text] == []
