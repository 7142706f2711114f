"""An event of a run is written as one line of JSON and read back unchanged.

These are the events that `urteil` prints with `--json`, such as `run_finished`.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.events import (
    AnomalyDecided,
    BaselineApplied,
    DeliveryDecided,
    EdgeShown,
    Event,
    Evidence,
    ExplorerReady,
    FaultShown,
    Measured,
    OperationShown,
    PropertyDecided,
    Ready,
    ReleaseDecided,
    RowShown,
    RunFinished,
    RunStarted,
    StateShown,
    TraceKept,
    VerdictCompared,
)
from checkers.plan_events import PassExplained, PassMeasured, StageExplained, StageMeasured
from checkers.saved_events import UnreadableEvents, from_json
from checkers.verdicts import MEANINGS

TEXT = st.text()  # surrogates included: a value is whatever a client saw
ENTRIES = st.lists(TEXT, max_size=2).map(tuple)
SHAPES = st.dictionaries(TEXT, TEXT, max_size=2)
TIME_NS = st.integers(0, 2**62)
OPERATIONS = st.builds(
    OperationShown,
    op=st.integers(0),
    process=st.integers(0),
    outcome=st.sampled_from(["ok", "fail", "info"]),
    invoked_ns=TIME_NS,
    completed_ns=st.none() | TIME_NS,
    text=TEXT,
    label=TEXT,
    relevant=st.booleans(),
)
ROWS = st.builds(
    RowShown,
    anomaly=TEXT,
    history=TEXT,
    number=st.integers(1),
    text=TEXT,
    ops=st.lists(st.integers(0), max_size=3).map(tuple),
    operations=st.lists(OPERATIONS, max_size=3).map(tuple),
    faults=st.lists(
        st.builds(FaultShown, description=TEXT, from_ns=TIME_NS, until_ns=st.none() | TIME_NS),
        max_size=2,
    ).map(tuple),
    edges=st.lists(
        st.builds(EdgeShown, source=st.integers(0), target=st.integers(0), kind=TEXT), max_size=2
    ).map(tuple),
)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    ROWS,
    st.builds(
        DeliveryDecided,
        history=TEXT,
        semantics=TEXT,
        applications=st.dictionaries(TEXT, st.integers(0), max_size=3),
        records=st.integers(0),
        repeated=st.integers(0),
        skipped=st.integers(0),
        breaks=st.lists(TEXT, max_size=2).map(tuple),
    ),
    st.builds(
        ReleaseDecided,
        release=TEXT,
        spec=TEXT,
        claim=st.none() | TEXT,
        verdict=st.none() | st.sampled_from([*MEANINGS]),
        steps=st.none() | st.integers(0),
        fixed_by=st.none() | TEXT,
    ),
    st.builds(RunStarted, command=TEXT, folder=TEXT, seed=st.integers(0)),
    st.builds(
        PropertyDecided,
        property=TEXT,
        verdict=st.sampled_from([*MEANINGS]),
        engine=TEXT,
        constants=st.none() | st.dictionaries(TEXT, st.integers() | st.booleans()),
        seconds=st.none() | st.floats(0, 1e6),
    ),
    st.builds(
        AnomalyDecided,
        anomaly=TEXT,
        verdict=st.just("holds"),
        count=st.integers(0),
        permitted=st.booleans(),
        system=st.none() | TEXT,
        fingerprints=SHAPES,
        known=SHAPES,
        expired=SHAPES,
    ),
    st.builds(Evidence, about=TEXT, text=TEXT, file=st.none() | TEXT, expected=st.booleans()),
    st.builds(TraceKept, about=TEXT, spec=TEXT, file=TEXT, command=TEXT, summary=TEXT),
    st.builds(Measured, metric=TEXT, value=st.integers() | TEXT),
    st.builds(
        PassExplained,
        number=st.integers(1),
        source=TEXT,
        into=ENTRIES,
        stages=st.lists(
            st.builds(
                StageExplained,
                stage=TEXT,
                reads=ENTRIES,
                keeps=ENTRIES,
                shuffled_by=ENTRIES,
                used_by=ENTRIES,
                is_always=st.booleans(),
            ),
            max_size=2,
        ).map(tuple),
    ),
    st.builds(
        PassMeasured,
        history=TEXT,
        number=st.integers(1),
        source=TEXT,
        rows=st.integers(0),
        bytes=st.integers(0),
        seconds=st.floats(0, 1e6),
        tasks=st.integers(0),
        skew=st.floats(1, 1e6),
        costs=st.lists(
            st.builds(
                StageMeasured,
                stage=TEXT,
                seconds=st.floats(0, 1e6),
                rows=st.integers(0),
                bytes=st.integers(0),
            ),
            max_size=2,
        ).map(tuple),
    ),
    st.builds(Ready, bootstrap_servers=TEXT),
    st.builds(ExplorerReady, url=TEXT, link=TEXT),
    st.builds(StateShown, text=TEXT, view=st.dictionaries(TEXT, st.integers() | TEXT)),
    st.builds(BaselineApplied, file=TEXT, known=ENTRIES, expired=ENTRIES, unmatched=ENTRIES),
    st.builds(
        VerdictCompared,
        change=st.sampled_from(["new", "gone", "changed"]),
        claim=TEXT,
        subject=TEXT,
        before=st.none() | TEXT,
        count_after=st.none() | st.integers(0),
        fingerprints=SHAPES,
    ),
    st.builds(RunFinished, exit_code=st.integers(0, 130), seconds=st.none() | st.floats(0, 1e6)),
)


@settings(deadline=None)
@given(EVENTS)
def test_a_written_event_is_read_as_it_was(event: Event) -> None:
    line = event.as_json()
    assert "\n" not in line
    assert from_json(line) == event


def test_an_unknown_field_is_ignored() -> None:
    fields = {**json.loads(RunFinished(exit_code=1).as_json()), "weather": "fine"}
    assert from_json(json.dumps(fields)) == RunFinished(exit_code=1)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[]",
        '{"v": 2, "event": "no such"}',
        '{"v": 2, "event": "run_finished"}',
        '{"v": 1, "event": "run_finished", "exit_code": 0}',
        '{"v": 2, "event": "row_shown", "anomaly": "a", "history": "h", "number": 1, "text": "",'
        ' "operations": [3]}',
    ],
)
def test_a_line_that_is_not_an_event_is_an_input_fault(line: str) -> None:
    with pytest.raises(UnreadableEvents):
        from_json(line)


def test_the_parts_of_an_event_are_objects_in_the_stream() -> None:
    kill = FaultShown(description="k", from_ns=1)
    row = RowShown(anomaly="a", history="h", number=1, text="", faults=(kill,))
    fields = json.loads(row.as_json())
    assert fields["v"] == 2
    assert fields["event"] == "row_shown"
    assert fields["faults"] == [{"description": "k", "from_ns": 1, "until_ns": None}]
