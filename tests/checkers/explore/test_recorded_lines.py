"""The page shows a trace of a real broker line by line. Each line has the steps of the spec that
explain it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from checkers.explore import traces
from checkers.explore.requests import Explorer, where
from checkers.report.explained_trace import FORMAT, ExplainedTrace, read_trace, written
from checkers.tracing.explaining import explained
from checkers.tracing.following import follow
from checkers.tracing.log_lines import log_lines
from checkers.tracing.outcomes import Refused
from checkers.tracing.reading import read
from checkers.tracing.replication import SPEC, PartitionReplication
from checkers.tracing.transactions import TransactionalId
from model.faults import InputFault
from tests.checkers.tracing.logs import ONE_RECORD, Line, advances, appends, copies, records, trace

KAFKA = Path(__file__).parents[2] / "data" / "kafka_trace"
LATE = appends(0, 0, "data-plane-kafka-request-handler-7")


def of_lines(folder: Path, *lines: Line) -> ExplainedTrace:
    events = trace(folder, *lines)
    mapping = PartitionReplication.of(events)
    assert not isinstance(mapping, Refused)
    return explained(SPEC, mapping, events, follow(mapping, events))


def saved(folder: Path, found: ExplainedTrace) -> Path:
    file = folder / "t-0.trace.json"
    file.write_text(written(found))
    return file


def test_each_line_has_its_steps_and_most_change_nothing(tmp_path: Path) -> None:
    opened = traces.opened(saved(tmp_path, of_lines(tmp_path, *ONE_RECORD)))
    assert opened.lines is not None
    assert opened.lines.elements == {"Replica": {"b0": "broker 1", "b1": "broker 2"}}
    calls = [call.text for call in opened.path.calls]
    ends = [0, *(line["end"] for line in opened.lines.lines)]
    steps = [calls[a:b] for a, b in pairwise(ends)]
    assert [one for one in steps if one] == [
        ["fetch_request(b1, latest 0)"],
        ["append(b0, m1, end 1)"],
        ["fetch_response(b1, latest 0, end 1)"],
        ["fetch_request(b1, latest 0)"],
        ["advance_high_watermark(b0, mark 1)"],
    ]
    assert len(steps) == 10
    assert opened.lines.refused is None


def test_the_path_leads_to_the_state_of_the_validation() -> None:
    """The file of an explained trace has every action of the trace. These actions lead to the state
    that the validation reached.
    """
    events = read(log_lines(sorted(KAFKA.glob("*.gz"))))
    for mapping, found, spec in (
        (PartitionReplication.of(e := events.partitions["tt-0"]), e, SPEC),
        (TransactionalId.of(e := events.transactional_ids["tx1"]), e, "transactions-abstract"),
    ):
        assert not isinstance(mapping, Refused)
        followed = follow(mapping, found)
        made = explained(spec, mapping, found, followed)
        assert len(made.lines) == followed.events
        again = read_trace(json.loads(written(made)), "a file")
        assert again == made
        opened = traces._explained(Path("a file"), made, None)
        assert opened.path.state == mapping.behaviour.state
        assert len(opened.path.calls) == followed.actions.total()


def test_a_line_that_came_late_is_before_the_line_that_needs_it(tmp_path: Path) -> None:
    lines = (*ONE_RECORD[:5], (2, copies(0, 0)), (1, records(2, 0)), (1, LATE), *ONE_RECORD[7:])
    found = of_lines(tmp_path, *lines)
    assert [line.is_early for line in found.lines].count(True) == 1
    early = next(k for k, line in enumerate(found.lines) if line.is_early)
    assert found.lines[early].text.startswith("broker 1: append")
    assert found.lines[early].at_ms > found.lines[early + 1].at_ms
    assert traces.opened(saved(tmp_path, found)).path.calls[1].text == "append(b0, m1, end 1)"


def forbidden(folder: Path) -> Path:
    return saved(folder, of_lines(folder, *ONE_RECORD[:5], (1, appends(0, 0)), (1, advances(0, 1))))


def test_a_line_that_no_step_explains_has_the_false_conjunct(tmp_path: Path) -> None:
    file = forbidden(tmp_path)
    opened = traces.opened(file)
    assert opened.lines is not None
    line = opened.lines.refused
    assert line is not None
    assert line["place"].endswith("node-1.log:5")
    assert line["why"].startswith("advance_high_watermark(r=0, mark=1) is not allowed: it needs")
    assert line["needs"]["call"] == "advance_high_watermark(b0, mark 1)"
    assert (
        line["needs"]["why"]
        == "for f b1: as b1 ∈ led[0].maximal_isr: 1 ≤ led[0].fetched[b1] 0 is false"
    )
    # the state is that before the line, and the action is one of its disabled ones
    view = Explorer(opened=where(opened)).answer("walk", where(opened))
    assert view["steps"][-1]["call"] == "append(b0, m1, end 1)"
    (same,) = [one for one in view["disabled"] if one["why"] in line["needs"]["why"]]
    assert line["needs"]["call"] in (same["call"], *same["others"])


def test_a_link_has_the_scope_so_it_needs_no_file(tmp_path: Path) -> None:
    found = where(traces.opened(forbidden(tmp_path)))
    link = {k: found[k] for k in ("spec", "variant", "constants", "scope", "path")}
    view = Explorer(opened={"spec": "replication"}).answer("walk", link)
    assert view["scope"].startswith("Replica=2,LeaderEpoch=2,Offset=")
    assert "--scope Replica=2,LeaderEpoch=2," in view["command"]
    assert view["wide"] == ["Message"]


def test_of_two_traces_the_one_with_a_forbidden_line_opens_first(tmp_path: Path) -> None:
    file = forbidden(tmp_path)
    other = tmp_path / "a-0.trace.json"
    other.write_text(written(of_lines(tmp_path, *ONE_RECORD)))
    assert traces.files(tmp_path) == [file, other]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda read: read.update(format="urteil-trace-9"), f"this Urteil reads '{FORMAT}'"),
        (lambda read: read.pop("scope"), "missing or unfit (KeyError: 'scope')"),
        (lambda read: read["lines"].append(3), "missing or unfit (AttributeError"),
        (lambda read: read.update(start=[0]), "the trace begins in no initial state"),
        (lambda read: read.update(variant="kip"), "replication-abstract has no variant 'kip'"),
        (lambda read: read["scope"].update(Offset=0), "scope Offset=0: write SORT=ELEMENTS"),
        (lambda read: read["lines"][0]["steps"].append(["apend", [0]]), "has no action apend"),
        (
            lambda read: read["lines"][0]["steps"].append(["advance_high_watermark", [0, 1]]),
            "step 1, advance_high_watermark(b0, mark 1), is not possible",
        ),
    ],
)
def test_a_damaged_trace_is_refused(
    tmp_path: Path, change: Callable[[Any], object], message: str
) -> None:
    file = saved(tmp_path, of_lines(tmp_path, *ONE_RECORD))
    read = json.loads(file.read_text())
    change(read)
    file.write_text(json.dumps(read))
    with pytest.raises(InputFault) as fault:
        traces.opened(file)
    assert message in str(fault.value)
    assert str(file) in str(fault.value) or "scope" in message or "variant" in message
