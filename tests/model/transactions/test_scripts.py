"""Each transaction bug breaks a claim in a short run; the fixed spec refuses a step of this run.

A script lists the steps: `end 0 ABORT` is the action `end` with its arguments in order.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from model.language import Spec
from model.language.interpreter import Interpreter, State
from model.language.scope import ranges_of
from model.language.values import Writer
from model.transactions import coordinator_bugs, partition_bugs
from model.transactions.state import QUIET
from model.transactions.versions import LaxMarkers, Transactions, Verification, Version1
from model.variants import Constants
from tests.model.runs import action, broken

VALUES = {"COMMIT": 0, "ABORT": 1}


def taken(spec: Spec, script: str) -> tuple[State, str, str]:
    """Runs a script; returns the last state, the refused step, and the conjunct that forbids it.

    The run ends at the first refused step. If there is none, the step and the conjunct are "".
    """
    interpreter = Interpreter.of(spec)
    (state,) = interpreter.initial(spec)
    for call in filter(None, (line.strip() for line in script.splitlines())):
        name, *words = call.split()
        values = [VALUES[w] if w in VALUES else int(w) for w in words]
        after = interpreter.step(action(spec, name), state, values)
        if after is None:
            return state, call, str(interpreter.why_disabled(action(spec, name), state, values))
        state = after
    return state, "", ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """The steps of a run. In a variant with a bug, the run breaks claims.

    In the fixed spec, a guard refuses one of these steps.
    """

    of: type[Spec]
    at: Constants  # beside which nothing fails
    run: str
    breaks: set[str]
    fixed_in: type[Spec] = Transactions
    instead: str = ""  # the same run by the steps of a later version
    refused: str = ""  # the step; none where it is another step from then on
    because: str = ""  # a part of the false conjunct


SCRIPTS = {
    "T1, a late record hangs": Script(
        of=Version1,
        at={"transactions": 1, "records_late": True},
        run="""
            init_producer 0
            begin 0 0
            add_partition 0 0
            send 0 0
            end 0 ABORT
            write_marker 0 0
            complete
            append_record 0 0
        """,
        breaks={"no_hanging_transaction"},
        fixed_in=Verification,
        refused="append_record 0 0",
        because="verified",
    ),
    "T2, a delayed commit of the first transaction commits half of the second": Script(
        of=Verification,
        at={"partitions": 2, "ends_late": True},
        run="""
            init_producer 0
            begin 0 0
            add_partition 0 0
            send 0 0
            verify 0 0
            append_record 0 0
            end 0 COMMIT
            write_marker 0 0
            complete
            receive_end 0 0 COMMIT
            begin 1 0
            add_partition 0 1
            send 0 1
            verify 0 1
            append_record 0 1
            end 0 COMMIT
            write_marker 0 1
        """,
        breaks={"the_client_decides"},
        instead="""
            init_producer 0
            begin 0 0
            send 0 0
            add_partition 0 0
            verify 0 0
            append_record 0 0
            end 0 COMMIT
            write_marker 0 0
            complete
            receive_end 0 0 COMMIT
            begin 1 0
            send 0 1
            add_partition 0 1
            verify 0 1
            append_record 0 1
            end 0 COMMIT
        """,
        refused="end 0 COMMIT",
        because="producer_epoch",
    ),
    "T3, verified before the marker, appended after it": Script(
        of=partition_bugs.KeepsGuard,
        at={"transactions": 1, "records_late": True},
        run="""
            init_producer 0
            begin 0 0
            add_partition 0 0
            send 0 0
            verify 0 0
            end 0 ABORT
            write_marker 0 0
            complete
            append_record 0 0
        """,
        breaks={"no_hanging_transaction"},
        fixed_in=Verification,
        refused="append_record 0 0",
        because="verified",
    ),
    "T5, a record of the next transaction lands in the one before": Script(
        of=partition_bugs.OngoingById,
        at={},
        run="""
            init_producer 0
            begin 0 0
            send 0 0
            add_partition 0 0
            verify 0 0
            append_record 0 0
            end 0 COMMIT
            receive_end 0 0 COMMIT
            begin 1 0
            send 0 1
            append_record 0 1
            write_marker 0 0
        """,
        breaks={"markers_close_their_own", "no_aborted_read"},
        fixed_in=LaxMarkers,
        refused="append_record 0 1",
        because="producer_epoch",
    ),
    "T20, the marker of one transaction closes the next": Script(
        of=LaxMarkers,
        at={"markers_late": True},
        run="""
            init_producer 0
            begin 0 0
            send 0 0
            add_partition 0 0
            verify 0 0
            append_record 0 0
            end 0 COMMIT
            write_marker 0 0
            complete
            receive_end 0 0 COMMIT
            begin 1 0
            send 0 1
            add_partition 0 1
            verify 0 1
            append_record 0 1
            write_late_marker 0 0 0
        """,
        breaks={"markers_close_their_own", "no_aborted_read"},
        refused="write_late_marker 0 0 0",
        because="producer_epoch",
    ),
    "T7, a fence that takes two epochs": Script(
        of=coordinator_bugs.FencesTwice,
        at={"max_epoch": 1},
        run="""
            init_producer 0
            begin 0 0
            send 0 0
            add_partition 0 0
            fence
        """,
        breaks={"epochs_stay_in_range"},
    ),
    "T8, a fence that keeps the producer id": Script(
        of=coordinator_bugs.FenceKeepsId,
        at={"max_epoch": 1},
        run="""
            init_producer 0
            begin 0 0
            send 0 0
            add_partition 0 0
            fence
            write_marker 0 0
            complete
            receive_end 0 0 ABORT
        """,
        breaks={"epochs_stay_in_range"},
    ),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_breaks_its_claim_in_its_variant(name: str) -> None:
    script = SCRIPTS[name]
    spec = script.of(**{**QUIET, **script.at})
    state, refused, because = taken(spec, script.run)
    assert (refused, because) == ("", "")
    assert broken(spec, state) == script.breaks


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_step_of_the_script_is_refused_in_the_fix(name: str) -> None:
    script = SCRIPTS[name]
    spec = script.fixed_in(**{**QUIET, **script.at})
    state, refused, because = taken(spec, script.instead or script.run)
    assert refused == script.refused
    assert script.because in because
    assert not broken(spec, state)


def test_states_and_outcomes_are_printed_by_their_labels() -> None:
    spec = Transactions(**QUIET)
    writer = Writer(spec, ranges_of(spec.scope()))
    before, _, _ = taken(spec, "init_producer 0\n begin 0 0")
    after, _, _ = taken(spec, "init_producer 0\n begin 0 0\n end 0 ABORT")
    assert writer.call(action(spec, "end"), [0, 1]) == "end(k 0, outcome ABORT)"
    changed = dict(writer.changes(before, after))
    assert changed["metadata"] == ["state EMPTY → PREPARE", "outcome COMMIT → ABORT",
                                 "producer_epoch 0 → 1"]  # fmt: skip
