"""The terminal shows evidence as soon as it is found, and ends with one table of verdicts."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace

import pytest

from checkers.events import (
    AnomalyDecided,
    Event,
    Evidence,
    ExplorerReady,
    Listed,
    Measured,
    PropertyDecided,
    Ready,
    RunFinished,
    RunStarted,
    StateShown,
)
from checkers.report.terminal import Terminal, table
from checkers.verdicts import verdict_on

STARTED = RunStarted(command="check", folder="runs/today", seed=0)
HOLDS = PropertyDecided(
    property="weak_isr",
    verdict="holds",
    expected="holds",
    engine="explicit",
    spec="replication",
    variant="kip-320",
    constants={"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 1, "old": False},
    distinct_states=39_619,
    depth=22,
    seconds=0.46,
)
UNDECIDED = PropertyDecided(
    property="strong_isr",
    verdict="undecided",
    expected="holds",
    engine="explicit",
    spec="replication",
    variant="kip-320",
    distinct_states=1,
    reason="the budget of states is spent",
)
VIOLATED = PropertyDecided(
    property="weak_isr", verdict="violated", engine="explicit", spec="mine", trace_length=1
)


def said(*events: Event) -> str:
    stream = io.StringIO()
    terminal = Terminal(stream)
    for event in events:
        terminal(event)
    return stream.getvalue()


def test_a_verdict_is_below_its_spec_with_all_constants() -> None:
    assert said(STARTED, HOLDS, RunFinished(exit_code=0)) == (
        "replication kip-320 · explicit · 39,619 states · 0.5 s · "
        "replicas 3, log_size 2, max_records 2, max_leader_epoch 1\n"
        "  ✓ weak_isr  holds                     to depth 22\n"
        "report runs/today/report.html; exit code 0: every selected claim was decided and holds\n"
    )


def test_grounds_are_in_one_column_for_any_verdict() -> None:
    lines = said(HOLDS, UNDECIDED, RunFinished(exit_code=3)).splitlines()
    assert lines[1:] == [
        "  ✓ weak_isr    holds                      to depth 22",
        "replication kip-320 · explicit · 1 state",
        "  ? strong_isr  undecided, expected holds  the budget of states is spent",
    ]


def test_a_single_step_is_written_in_the_singular() -> None:
    assert "  ✗ weak_isr  violated                  in 1 step\n" in said(
        VIOLATED, RunFinished(exit_code=1)
    )


@pytest.mark.parametrize(
    ("count", "observations", "permitted", "line"),
    [
        (0, 1_838, False, "  ✓ duplicate  holds                     1,838 observations"),
        (0, 3, False, "  ✓ duplicate  holds                     only 3 observations"),
        (0, 0, False, "  · 1 not exercised, as nothing could have shown duplicate"),
        (2, 1, False, "  ✗ duplicate  violated                  2 found in 1 observation"),
        (2, 9, True, "  ✗ duplicate  violated, permitted       2 found in 9 observations"),
    ],
)
def test_the_line_of_an_anomaly_has_its_observations(
    count: int, observations: int, permitted: bool, line: str
) -> None:
    decided = AnomalyDecided(
        anomaly="duplicate",
        verdict=verdict_on(count, observations),
        count=count,
        permitted=permitted,
        observations=observations,
        history="h.edn",
    )
    heading, shown = said(decided, RunFinished(exit_code=0)).splitlines()
    assert heading == "h.edn · history"
    assert shown.startswith(line)


@pytest.mark.parametrize(
    ("count", "observations", "text"),
    [
        (0, 1, "only 1 observation (values polled)"),
        (1, 1, "1 found in 1 observation (values polled)"),
        (2, 1_838, "2 found in 1,838 observations (values polled)"),
    ],
)
def test_the_unit_of_the_observations_fits_any_number(
    count: int, observations: int, text: str
) -> None:
    decided = AnomalyDecided(
        anomaly="duplicate",
        verdict=verdict_on(count, observations),
        count=count,
        permitted=False,
        observations=observations,
        observed="values polled",
        history="h.edn",
    )
    assert said(decided, RunFinished(exit_code=0)).splitlines()[1].endswith(text)


def anomalies_that_hold(count: int) -> list[AnomalyDecided]:
    return [
        AnomalyDecided(
            anomaly=f"a{n}",
            verdict="holds",
            count=0,
            permitted=False,
            observations=n + 1,
            history="h.edn",
        )
        for n in range(count)
    ]


def test_many_anomalies_that_hold_share_a_line() -> None:
    assert table(anomalies_that_hold(5)).splitlines() == [
        "h.edn · history",
        "  ✓ 5 do not occur: a0, a1, a2, a3, a4",
    ]


def test_few_anomalies_that_hold_and_all_of_a_verbose_run_have_a_line_each() -> None:
    assert len(table(anomalies_that_hold(4)).splitlines()) == 1 + 4
    assert len(table(anomalies_that_hold(5), verbose=True).splitlines()) == 1 + 5


def test_an_anomaly_that_should_occur_and_does_not_has_its_own_line() -> None:
    missed = replace(anomalies_that_hold(1)[0], anomaly="duplicate", expected="violated")
    lines = table([*anomalies_that_hold(6), missed]).splitlines()
    assert lines[1].startswith("  ✓ duplicate  holds, expected violated")
    assert lines[2].startswith("  ✓ 6 do not occur")


@pytest.mark.parametrize(
    ("events", "text"),
    [
        ([Measured(metric="history: operations", value=5_085)], "history: operations: 5,085\n"),
        ([Measured(metric="proof took", value=1.5, unit="s")], "proof took: 1.5 s\n"),
        ([Ready(bootstrap_servers="127.0.0.1:9092")], "ready: 127.0.0.1:9092\n"),
        ([ExplorerReady(url="http://h/", link="http://h/#a")], "ready: http://h/#a\n"),
        ([StateShown(text="state 0", view={})], "state 0\n"),
        ([Evidence(about="a", text="✗ a\n  so")], "✗ a\n  so\n\n"),
        (
            [Evidence(about="a", text="✗ a   violated\n  so", file="a.txt", expected=True)],
            "as expected: ✗ a violated\n             shown in a.txt\n",
        ),
        (
            [Listed(kind="spec", item="replication", statement="Logs.")],
            "replication                  Logs.\n",
        ),
        (
            [
                Listed(
                    kind="bug", item="b", statement="One.", facts={"of": "replication-abstract"}
                ),
                Listed(kind="bug", item="c", statement="Two.", facts={"of": "broker"}),
            ],
            "b                            replication-abstract  One.\n"
            "c                            broker                Two.\n",
        ),
        ([STARTED, RunFinished(exit_code=2)], ""),
    ],
)
def test_every_other_event_is_printed_as_it_arrives(events: Sequence[Event], text: str) -> None:
    assert said(*events) == text


def test_the_caller_defines_the_meaning_of_exit_codes() -> None:
    stream = io.StringIO()
    terminal = Terminal(stream, {1: "a verdict is not the expected one"}.__getitem__)
    terminal(STARTED)
    terminal(RunFinished(exit_code=1))
    assert stream.getvalue() == (
        "run folder runs/today; exit code 1: a verdict is not the expected one\n"
    )
