"""Trials of test suites on the reference broker over TCP, with and without a seeded bug."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from checkers.histories.io.operation_rows import as_operations
from checkers.systems.peers import librdkafka_mock
from checkers.systems.served import running
from checkers.systems.system import Ability, Layout
from checkers.trials import evidence, known
from checkers.trials.connections import discovered
from checkers.trials.deciding import Effort, decide
from checkers.trials.layout import REFERENCE
from checkers.trials.replaying import kept_trials
from checkers.trials.trial import Ran, Trials
from model.faults import InputFault
from model.histories import Send
from model.vocabulary import BrokerId
from properties.suites.machines.driven import Power
from properties.suites.registry import suite_named
from properties.suites.search.programs import Call
from properties.suites.suite import Side, Suite
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.wire.serving.options import ServeOptions

PACE = 3
LOG, REPLICATION, DELIVERY = map(suite_named, ("log", "replication", "delivery"))
LOSES = Call("send_and_lose_responses", (("count", 1),))
AWAITS = Call("send_and_await", (("count", 1),))
WAITS = Call("pass_time", (("pause_ms", 5),))


@contextmanager
def trials(bugs: Bugs = NO_BUGS) -> Generator[Trials]:
    with running(REFERENCE, ServeOptions(bugs=bugs)) as system:
        yield Trials(system, PACE)


def side_of(suite: Suite, claim: str, setting: str) -> Side:
    return next(it for it in suite.sides if (it.claim, it.setting) == (claim, setting))


def test_a_trial_kills_brokers_and_breaks_no_claim() -> None:
    with trials() as on:
        crash = Call("crash_leader")
        ran = on.replay(LOG, "several", (crash, Call("read_from", (("offset", 0), ("place", 0)))))
    assert (ran.is_observed, ran.stuck) == (True, None)
    assert not {*LOG.always}.intersection(ran.shown)
    faults = [one.fault for one in ran.inflicted]
    assert [fault for fault in faults if "killed" in fault]
    assert [fault for fault in faults if "started" in fault]
    assert {operation.f for operation in ran.history} >= {"send", "poll", "end_offset"}


def test_a_drawn_trial_has_the_requested_calls_and_none_that_the_system_cannot_do() -> None:
    with trials() as on:
        assert on.powers == {Power.KILL, Power.LOSE_POWER}
        assert not on.can_run(LOG, (Call("isolate_leader"),))
        ran = on.draw(LOG, "several", "seed 3", rules=4)
    assert len(ran.calls) == 4
    assert on.can_run(LOG, ran.calls)


def test_a_broker_that_forgets_sequence_numbers_is_caught_and_the_program_is_reduced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = (AWAITS, LOSES, WAITS)
    monkeypatch.setattr(known, "fragile", lambda _suite, _setting: (program,))
    side = side_of(REPLICATION, "exactly_once_publish", "idempotent")
    effort = Effort(drawn=1, rules=1, fragile=1, tries=1, repeats=2, reductions=2)
    with trials(frozenset({Bug.NO_DEDUP})) as on:
        ran = on.replay(REPLICATION, "idempotent", program)
        assert ran.shown["exactly_once_publish"] == "v1 is at offsets 1, 2"
        (judged,) = decide(
            on, REPLICATION, (side,), seed=0, effort=effort, progress=lambda _line: None
        )
    assert judged.verdict == "violated"
    assert judged.evidence is not None
    assert LOSES in judged.evidence.calls
    assert {*judged.evidence.calls} <= {*program}
    assert judged.again is not None
    assert judged.again.shown >= 1
    folder = evidence.kept(tmp_path, REPLICATION, judged, on.system)
    assert folder is not None
    program_text = (folder / evidence.PROGRAM).read_text(encoding="utf-8")
    assert program_text.startswith("# exactly_once_publish (idempotent): violated; v1 is at offset")
    assert f"again in {judged.again}" in program_text.splitlines()[0]
    assert "state.send_and_lose_responses(count=1)  # Sends values" in program_text
    lines = (folder / evidence.FAULTS).read_text(encoding="utf-8").splitlines()
    assert any("responses" in json.loads(line)["fault"] for line in lines)
    kept = tuple(as_operations(pq.read_table(folder / evidence.HISTORY)))
    assert judged.evidence is not None
    assert len(kept) == len(judged.evidence.history)
    (again,) = kept_trials(folder / evidence.PROGRAM)
    assert again.programs == (judged.evidence.calls, *judged.evidence.beside)
    assert again.origin.system == on.system.name
    assert again.shown_by(judged.evidence) == judged.evidence.shown["exactly_once_publish"]
    assert again.shown_by(replace(judged.evidence, shown={})) is None


def test_a_folder_that_kept_no_trial_is_named_with_the_next_move(tmp_path: Path) -> None:
    with pytest.raises(InputFault, match=r"no trial.json: name the run folder of `urteil test"):
        kept_trials(tmp_path)
    (tmp_path / "trial.json").write_text("{}")
    with pytest.raises(InputFault, match="not a kept trial: 'suite'; run the suite again"):
        kept_trials(tmp_path)


def test_outside_its_condition_a_claim_is_broken_by_the_program_of_the_simulation() -> None:
    side = side_of(DELIVERY, "at_least_once", "position first")
    assert side.expected == "violated"
    (program,) = known.recorded("delivery", "at_least_once", "position first")
    with trials() as on:
        (judged,) = decide(
            on,
            DELIVERY,
            (side,),
            seed=0,
            effort=Effort(drawn=1, repeats=1),
            progress=lambda _line: None,
        )
    assert judged.verdict == "violated"
    assert judged.evidence is not None
    assert judged.evidence.calls == program


def test_a_side_that_needs_a_seeded_bug_is_undecided() -> None:
    side = next(side for side in LOG.outside if side.bugs)
    with trials() as on:
        (judged,) = decide(on, LOG, (side,), seed=0, effort=Effort(), progress=lambda _line: None)
    assert (judged.verdict, judged.trials) == ("undecided", 0)
    assert judged.why == "only the reference broker has seeded bugs"


def test_a_claim_that_needs_the_state_of_replicas_is_undecided_with_the_reason() -> None:
    elections = suite_named("elections")
    with trials() as on:
        found = list(
            decide(
                on,
                elections,
                elections.inside,
                seed=0,
                effort=Effort(),
                progress=lambda _line: None,
            )
        )
    assert {judged.why for judged in found} == {
        "this needs a system that can see the state of every replica"
    }
    assert {judged.side.claim for judged in found} == {side.claim for side in elections.inside}


def test_a_goal_that_no_trial_shows_is_undecided_inside_and_violated_outside(
    tmp_path: Path,
) -> None:
    outside = side_of(REPLICATION, "retry_duplicates", "idempotent")
    inside = replace(outside, expected="holds")
    quick = Effort(drawn=1, rules=1, tries=1)
    with trials() as on:
        found = [
            judged
            for side in (outside, inside)
            for judged in decide(
                on, REPLICATION, (side,), seed=0, effort=quick, progress=lambda _line: None
            )
        ]
        assert [evidence.kept(tmp_path, REPLICATION, one, on.system) for one in found] == [None] * 2
    assert [judged.verdict for judged in found] == ["violated", "undecided"]
    # both searches are in one setting, so the folder has the trial of the second
    (folder,) = {evidence.keep_last(tmp_path, REPLICATION, judged) for judged in found}
    assert folder == tmp_path / "histories" / "replication-idempotent"
    last = found[1].last
    assert last is not None
    kept = as_operations(pq.read_table(folder / evidence.HISTORY))
    assert {one.invoked_ns for one in kept} == {one.invoked_ns for one in last.history}
    assert evidence.keep_last(tmp_path, REPLICATION, replace(found[1], last=None)) is None
    assert evidence.keep_last(tmp_path, REPLICATION, replace(found[1], evidence=last)) is None


def test_the_names_of_two_trials_differ() -> None:
    with trials() as on:
        results = [on.replay(LOG, "several", (WAITS,)) for _ in range(2)]
    for ran in results:  # the second one does not see the records of the first
        sends = (it for one in ran.history for it in one.did if isinstance(it, Send))
        values = [sent.value for sent in sends]
        assert values == ["v0", "v1", "v2", "v3", "v4"]


def test_trials_at_the_same_time_share_the_faults_of_brokers_and_nothing_else() -> None:
    crash = (Call("crash_leader"), Call("pass_time", (("pause_ms", 150),)))
    with trials() as on:
        ran = on.together(LOG, "several", (crash, (WAITS,), "seed 1"), 2)
        assert on.brokers.is_calm
        assert all(on.brokers.is_up(BrokerId(broker)) for broker in (1, 2, 3))
    assert [one.is_observed for one in ran] == [True, True, True]
    assert not any({*LOG.always}.intersection(one.shown) for one in ran)
    for one in ran:  # each of them knows that a broker was killed
        assert [fault for fault in one.inflicted if "killed" in fault.fault]
        assert {sent.value for it in one.history for sent in it.did if isinstance(sent, Send)} >= {
            "v0"
        }


def test_no_trials_are_run_for_no_plans() -> None:
    with trials() as on:
        assert on.together(LOG, "several", ()) == []


def test_a_system_that_can_run_nothing_decides_nothing_outside_either() -> None:
    outside = side_of(REPLICATION, "retry_duplicates", "idempotent")
    with librdkafka_mock(Layout()) as mock:
        on = Trials(mock, PACE)
        stuck = Ran(
            setting="idempotent",
            calls=(),
            is_observed=False,
            shown={},
            stuck="no broker does that",
            history=(),
            inflicted=(),
            seconds=1.0,
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Trials, "_run", lambda *_: stuck)
            (judged,) = decide(
                on, REPLICATION, (outside,), seed=0, effort=Effort(drawn=1), progress=print
            )
    assert judged.verdict == "undecided"
    assert judged.why == "no trial came to its end: no broker does that"


def test_the_mock_of_librdkafka_creates_a_topic_when_a_client_reads_its_metadata() -> None:
    with librdkafka_mock(Layout()) as mock:
        ran = Trials(mock, PACE).replay(LOG, "several", (WAITS,))
        deletes = Call("delete_records", (("offset", 1),))
        lacks = Trials(mock, PACE).replay(LOG, "deletion", (deletes,))
    assert (ran.is_observed, ran.stuck) == (True, None)
    assert (lacks.is_observed, lacks.stuck) == (
        False,
        "DELETE_RECORDS: the client writes versions 0 to 2, the broker does not offer it",
    )


def test_a_cluster_that_does_not_answer_is_named() -> None:
    with pytest.raises(InputFault, match=r"127\.0\.0\.1:1: no broker answers"):
        discovered("127.0.0.1:1")


def test_abilities_give_powers() -> None:
    with trials() as on:
        assert {Ability.KILL, Ability.START} <= on.system.abilities
