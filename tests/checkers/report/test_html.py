"""The HTML report shows verdicts with their evidence, fetches nothing, and has a limited size."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from checkers.events import (
    AnomalyDecided,
    EdgeShown,
    Event,
    Evidence,
    Measured,
    OperationShown,
    PropertyDecided,
    RowShown,
    RunFinished,
    RunStarted,
    TraceKept,
)
from checkers.histories.io.operation_rows import SCHEMA
from checkers.plan_events import PassMeasured, StageMeasured
from checkers.report.html import BUDGET, CAPS, report
from checkers.report.run_result import run_result
from checkers.verdicts import Verdict

Analysed = Callable[..., Path]

LOST = """
    p1  send k=a  -> ok @0
    p1  send k=b  -> ok @1
    c1  poll      -> ok k=a@0 k=c@2
    p2  send k=c  -> ok @2
"""
DESCRIBED = {"command": ["urteil", "analyze", "h.edn"], "seed": 7, "started": "2026-11-21"}


class Page(HTMLParser):
    """Parses an HTML page into texts, links and ids; asserts that elements are closed."""

    VOID = frozenset({"meta", "link", "input", "br"})

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.said: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self._open: list[str] = []
        self.feed(markup)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.append(tag)
        self.links += [link for name in ("href", "src") if (link := attributes.get(name))]
        self.ids += [attributes["id"] or ""] if "id" in attributes else []
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("style", "script"):
            self.said.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.said).split())


def page(*events: Event, described: dict[str, Any] | None = None, budget: int = BUDGET) -> str:
    made = report(run_result(events), described or DESCRIBED, budget=budget)
    assert len(made.encode()) <= budget
    return made


def decided(**named: Any) -> AnomalyDecided:
    fields: dict[str, Any] = {
        "anomaly": "duplicate",
        "statement": "A value lies in the log at most once.",
        "rule": "One value at two offsets.",
        "verdict": "violated",
        "count": 40,
        "permitted": False,
        "observations": 300,
        "history": "h.edn",
        "file": "anomalies/duplicate.parquet",
        "replay": "urteil analyze h.edn --anomaly duplicate",
    }
    return AnomalyDecided(**{**fields, **named})


def row(number: int = 1, **named: Any) -> RowShown:
    text = "key k: the value a lies at offsets 0, 1.\n  first  operation 3, process 1: send k=a"
    fields = {
        "anomaly": "duplicate",
        "history": "h.edn",
        "number": number,
        "text": text,
        "ops": (3,),
    }
    return RowShown(**{**fields, **named})


def test_a_real_analysis_has_its_page_in_its_folder(analysed: Analysed) -> None:
    folder = analysed(LOST)
    made = Page((folder / "report.html").read_text())
    shown = made.text
    assert shown.index("lost-write") < shown.index("Evidence")
    assert "Readers passed the offset and never received the record" in shown
    assert "key k: the value b is at offset 1;" in shown
    assert "urteil analyze history.parquet --engine local --quiet --anomaly lost-write" in shown
    assert "svg" in made.tags
    assert "process 1" in shown
    assert "The only row is shown" in shown
    beside = [link for link in made.links if not link.startswith(("#", "data:"))]
    assert "anomalies/lost-write.parquet" in beside
    assert all((folder / link).exists() for link in beside)
    inside = {link[1:] for link in made.links if link.startswith("#")}
    assert inside
    assert inside <= set(made.ids)


def test_a_violated_verdict_stands_above_the_undecided_ones() -> None:
    undecided = decided(anomaly="lost-write", verdict="undecided", count=0, reason="interrupted")
    shown = Page(page(undecided, decided(), RunFinished(exit_code=1))).text
    assert shown.index("duplicate") < shown.index("lost-write")


def test_the_page_names_nothing_that_a_browser_would_fetch() -> None:
    markup = page(row(), decided(), RunFinished(exit_code=1))
    assert "http:" not in markup
    assert "https:" not in markup
    assert "@import" not in markup
    assert "url(" not in markup
    assert "default-src 'none'" in markup


def test_the_number_of_shown_rows_is_stated() -> None:
    many = [row(n) for n in range(1, 33)]
    shown = Page(page(*many, decided(count=100_000))).text
    assert "The worst 32 of 100,000 rows are shown; anomalies/duplicate.parquet holds all" in shown


def test_a_permitted_violation_has_its_reason_and_does_not_count() -> None:
    event = decided(permitted=True, reason="subscribed: a rebalance moves positions")
    shown = Page(page(row(), event, RunFinished(exit_code=0))).text
    assert shown.startswith("holds · urteil analyze h.edn")
    assert "Permitted because subscribed: a rebalance moves positions" in shown
    assert "1 permitted" in shown


@pytest.mark.parametrize("verdict", ["violated", "holds"])
def test_a_verdict_on_a_spec_names_the_releases_of_kafka(verdict: Verdict) -> None:
    speaking = PropertyDecided(
        property="weak_isr",
        verdict=verdict,
        engine="explicit",
        spec="replication",
        variant="kip-101",
        in_force="from Kafka 0.11 to 1.1",
    )
    silent = replace(speaking, spec="my_protocol.py", in_force=None)
    shown = Page(page(speaking, silent, RunFinished(exit_code=0))).text
    assert "replication kip-101 · explicit from Kafka 0.11 to 1.1" in shown
    assert shown.count("from Kafka") == 1


def test_a_run_of_verify_shows_models_proofs_and_histories_together() -> None:
    started = RunStarted(command="verify", folder="runs/x", seed=0, judged_by_expectation=True)
    proof = PropertyDecided(
        property="faithful", statement="No torn transaction.", verdict="holds", engine="z3"
    )
    model = PropertyDecided(
        property="weak_isr", verdict="violated", expected="violated", engine="explicit"
    )
    steps = Evidence(
        about="weak_isr", text="✗ weak_isr  violated after 8 steps", file="w.txt", expected=True
    )
    whole = Evidence(about="h.edn", text="h.edn: violated   7 operations", file="anomalies.txt")
    made = page(
        started,
        proof,
        steps,
        model,
        whole,
        row(),
        decided(expected="violated"),
        Measured(metric="verdicts", value="3 of 3 are the expected ones"),
        RunFinished(exit_code=0),
    )
    shown = Page(made).text
    assert "every verdict is the expected one" in shown
    assert "No torn transaction." in shown
    assert "weak_isr violated after 8 steps" in shown
    assert shown.count("violated, as expected") == 4
    assert "h.edn: violated 7 operations" in shown
    assert "3 of 3 are the expected ones" in shown
    assert not re.search(r"<details class=\"finding[^>]* open", made)


def test_a_trace_has_the_command_that_opens_it() -> None:
    kept = TraceKept(
        about="orders-0",
        spec="idempotence-abstract",
        file="orders-0-idempotence-abstract.trace.json",
        command="urteil explore runs/x/orders-0-idempotence-abstract.trace.json",
        summary="242 lines explained, then event 242 is no step of the spec: <why>",
    )
    made = page(kept, decided())
    shown = Page(made).text
    assert "Traces to step through" in shown
    assert "orders-0 idempotence-abstract: 242 lines explained, then event 242 is no step" in shown
    assert f'data-copy="{kept.command}"' in made
    assert "<why>" not in made
    assert "Traces to step through" not in page(decided())


def test_a_cycle_has_a_drawing_and_a_text() -> None:
    edges = (
        EdgeShown(source=3, target=5, kind="ww", reason="k: a before b"),
        EdgeShown(source=5, target=3, kind="wr", reason="j: c"),
    )
    made = page(row(ops=(3, 5), edges=edges), decided())
    assert 'class="cycle"' in made
    assert "k: a before b" in Page(made).text


def test_an_operation_is_marked_wherever_it_is_named() -> None:
    operation = OperationShown(
        op=3,
        process=1,
        outcome="ok",
        invoked_ns=0,
        completed_ns=5,
        text="send k=a -> ok @0",
        label="send a@0",
    )
    made = page(row(operations=(operation,)), decided())
    assert made.count('data-op="3"') == 2


@pytest.mark.parametrize("hostile", ["</pre><script>alert(1)</script>", '"><img src=x onerror=y>'])
def test_values_of_clients_are_never_markup(hostile: str) -> None:
    shown = row(text=f"key {hostile}:\n  first operation 3 {hostile}")
    event = decided(anomaly="duplicate", statement=hostile, reason=hostile, file=hostile)
    made = Page(page(shown, event, Evidence(about="x", text=hostile)))
    assert "img" not in made.tags
    assert made.tags.count("script") == 1


def test_lone_surrogates_and_controls_are_shown_as_escapes() -> None:
    made = page(row(text="key \ud800\x00:"), decided())
    assert "key \\ud800\\x00:" in Page(made).text


def test_any_run_stays_within_the_size_budget_and_states_the_omissions() -> None:
    long = "x" * 30_000
    rows = [
        row(n, text=f"{long}\noperation 3", anomaly=f"a{m}") for m in range(60) for n in (1, 2, 3)
    ]
    decisions = [decided(anomaly=f"a{m}", statement=long[:500]) for m in range(60)]
    evidence = [Evidence(about="e", text=long, file="e.txt") for _ in range(300)]
    made = page(*rows, *decisions, *evidence)
    shown = Page(made).text
    assert "To stay below 5 MB, this page shows of each finding at most" in shown
    assert "more characters are in e.txt" in shown


def test_the_costs_of_an_analysis_are_a_folded_table(analysed: Analysed) -> None:
    markup = (analysed(LOST) / "report.html").read_text()
    shown = Page(markup).text
    assert '<details class="costs">' in markup  # closed
    assert re.search(r"Passes of the analysis of history\.parquet: \d+ in \d+\.\d\d s", shown)
    assert "stage rows bytes seconds tasks skew" in shown
    pass_1, shuffle = (shown.index(f"pass {n}: operations") for n in (1, 2))
    assert pass_1 < shown.index("checking that rows are valid") < shuffle
    assert re.search(r"pass 2: operations → record locations, sends 5 [\d,]+ \d", shown[shuffle:])
    assert re.search(r"shuffling by location 5 [\d,]+ \d\.\d{3}", shown[shuffle:])


def test_passes_that_are_left_out_are_counted() -> None:
    passes = [
        PassMeasured(
            history="h",
            number=n,
            source="operations",
            rows=n,
            bytes=8 * n,
            seconds=0.25,
            tasks=2,
            skew=1.5,
            costs=(StageMeasured(stage="s", seconds=0.1, rows=1, bytes=8),),
        )
        for n in range(1, 2_001)
    ]
    assert "1,000 further passes are in events.ndjson" in Page(page(*passes)).text


def test_the_smallest_caps_bound_the_page() -> None:
    decisions = [decided(anomaly=f"a{m}" * 20, statement="s" * 10_000) for m in range(3_000)]
    rows = [row(1, text="x" * 100_000, anomaly=f"a{m}" * 20) for m in range(3_000)]
    shown = Page(page(*decisions, *rows)).text
    assert "further verdicts are in events.ndjson" in shown
    assert len(CAPS) > 1


@pytest.fixture
def inverted() -> pa.Table:
    """Returns a history of 100,001 sends; the first send has the highest offset."""
    many = 100_001
    op = np.arange(many)
    offset = np.concatenate([[10**9], np.arange(many - 1)])
    columns: dict[str, Any] = {
        "op": op,
        "process": np.zeros(many, np.int64),
        "f": ["send"] * many,
        "outcome": ["ok"] * many,
        "invoked_ns": op * 10,
        "completed_ns": op * 10 + 5,
        "position": np.zeros(many, np.int32),
        "kind": ["send"] * many,
        "key": ["k"] * many,
        "offset": offset,
        "value": [f"v{n}" for n in range(many)],
    }
    nothing = [None] * many
    return pa.table({name: columns.get(name, nothing) for name in SCHEMA.names}, schema=SCHEMA)


def test_a_hundred_thousand_rows_are_a_short_page(analysed: Analysed, inverted: pa.Table) -> None:
    folder = analysed(inverted, "--anomaly", "offset-order-inversion")
    markup = (folder / "report.html").read_text()
    assert len(markup.encode()) < 1_000_000
    assert "The worst 32 of 100,000 rows are shown" in Page(markup).text
    events = [json.loads(line) for line in (folder / "events.ndjson").read_text().splitlines()]
    assert sum(event["event"] == "row_shown" for event in events) == 32


def test_a_broken_assumption_is_open_on_the_page_with_its_rows(analysed: Analysed) -> None:
    folder = analysed("p1 send k=a k=a -> ok @0 @1")
    markup = (folder / "report.html").read_text()
    shown = Page(markup).text
    assert shown.startswith("undecided · urteil analyze")
    assert "undecided assumptions broken: values-are-unique" in shown
    assert "a was sent to k by operations 0, 0" in shown
    assert '<details class="evidence" open>' in markup
