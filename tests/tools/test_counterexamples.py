"""Each bug and old version of a spec has a recorded counterexample, which replays to a violation.

A sample is replayed here, the shortest trace of each spec; `make counterexamples` replays all.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from checkers import counterexample_record, track_record
from checkers.counterexample_record import Counterexample, kept
from model.specs import SPECS, all_variants
from tools import counterexamples
from tools.counterexamples import ends_in_a_violation, repeated, replay_all
from tools.track_record import __main__ as verdicts

RENEW = "python -m tools.counterexamples"
SAMPLE = [
    min((x for x in kept().values() if x.spec == s), key=lambda x: len(x.steps)) for s in SPECS
]
LASSO = kept()["consumer-group", "refuses-return"]
CUT = kept()["retention", "expires-uncommitted"]


def test_each_variant_that_breaks_a_claim_has_a_counterexample_of_the_recorded_length() -> None:
    broken = {(v.spec, v.name): (v.breaks, v.steps) for v in all_variants() if v.breaks}
    record = {row: (found.breaks, len(found.steps)) for row, found in kept().items()}
    assert record == broken, RENEW
    assert {row: caught.steps for row, caught in track_record.kept().items()} == {
        row: steps for row, (_, steps) in record.items()
    }


@pytest.mark.parametrize("found", SAMPLE, ids=lambda found: found.spec)
def test_a_recorded_trace_replays_to_a_violation_in_its_last_step(found: Counterexample) -> None:
    assert ends_in_a_violation(found), RENEW


def test_a_lasso_replays_to_a_violation_of_a_liveness_property() -> None:
    assert LASSO.loop is not None
    assert ends_in_a_violation(LASSO)
    assert not ends_in_a_violation(replace(LASSO, loop=0))


def test_a_trace_without_one_of_its_steps_does_not_replay() -> None:
    without = replace(CUT, steps=CUT.steps[1:])
    assert not ends_in_a_violation(without)
    assert repeated(without).stopped == "expire is disabled"


def test_the_fixed_version_does_not_allow_the_trace() -> None:
    assert not ends_in_a_violation(replace(CUT, variant="kip-107"))


def test_a_trace_that_goes_on_after_the_violation_is_not_a_shortest_one() -> None:
    assert not ends_in_a_violation(replace(CUT, steps=(*CUT.steps, CUT.steps[0])))


def test_replay_names_each_trace_that_violates_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert replay_all([CUT]) == 0
    assert replay_all([CUT, replace(CUT, variant="kip-107")]) == 1
    assert capsys.readouterr().out == "retention kip-107: the trace violates nothing\n"


def test_one_spec_is_explored_again_and_the_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = kept()
    monkeypatch.setattr(counterexample_record, "KEPT", tmp_path / "record.json")
    changed = [
        replace(x, steps=()) if x.spec == "idempotence-abstract" else x for x in record.values()
    ]
    counterexample_record.keep(changed)
    assert counterexamples.main(["idempotence-abstract"]) == 0
    assert kept() == record


def test_a_trace_is_printed_with_one_action_a_line_and_its_claim() -> None:
    found = Counterexample(spec="a", variant="b", breaks="c", steps=("go(b0)", "stop()"))
    assert str(found) == "1  go(b0)\n2  stop()\nviolates c"
    assert str(replace(found, loop=1)).splitlines()[2:] == [
        "steps 2 to 2 repeat forever",
        "violates c",
    ]
    assert str(replace(found, loop=2)).splitlines()[2:] == ["nothing more happens", "violates c"]


@pytest.mark.parametrize("tool", [counterexamples, verdicts], ids=["traces", "verdicts"])
def test_an_unknown_spec_is_refused_with_the_next_move(
    tool: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        tool.main(["quorums"])
    assert ended.value.code == 2
    assert "there is no spec quorums; urteil list specs has the names" in capsys.readouterr().err


@pytest.mark.parametrize("tool", [counterexamples, verdicts], ids=["traces", "verdicts"])
def test_help_is_printed_and_nothing_runs(
    tool: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        tool.main(["--help"])
    assert ended.value.code == 0
    assert "SPEC" in capsys.readouterr().out
