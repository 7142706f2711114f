"""Each way in which a command can end has an exit code.

The last event of the output has the same code.
"""

from __future__ import annotations

import gc
import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from checkers.cli.command import command
from checkers.cli.run import Interrupted, Run
from checkers.events import AnomalyDecided, PropertyDecided
from checkers.over_time.store import opened
from checkers.verdicts import Verdict
from model.faults import InputFault

Body = Callable[[Run], None]


def decide(*verdicts: Verdict, expected: Verdict | None = None) -> Body:
    def body(run: Run) -> None:
        for verdict in verdicts:
            run.emit(PropertyDecided(property="p", verdict=verdict, engine="e", expected=expected))

    return body


def find(*, permitted: bool) -> Body:
    def body(run: Run) -> None:
        run.emit(AnomalyDecided(anomaly="a", verdict="violated", count=1, permitted=permitted))

    return body


def fail(error: BaseException) -> Body:
    def body(run: Run) -> None:
        decide("violated")(run)
        raise error

    return body


def ran(body: Body, folder: Path, *, judged_by_expectation: bool = False) -> Result:
    made = click.command("try")(command(judged_by_expectation=judged_by_expectation)(body))
    return CliRunner().invoke(made, ["--json", "--out", str(folder)])


def events(result: Result) -> Iterator[dict[str, object]]:
    for line in result.stdout.splitlines():
        yield json.loads(line)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (decide("holds"), 0),
        (decide("holds", "undecided"), 3),
        (decide("holds", "not exercised"), 0),
        (decide("not exercised"), 3),
        (decide("undecided", "violated", "holds"), 1),
        (decide(), 3),
        (decide("violated", expected="violated"), 1),
        (find(permitted=False), 1),
        (find(permitted=True), 0),
        (fail(InputFault("there")), 2),
        (fail(Interrupted()), 130),
        (fail(KeyboardInterrupt()), 130),
        (fail(ZeroDivisionError()), 4),
    ],
)
def test_the_exit_code_and_the_last_event_agree(body: Body, code: int, tmp_path: Path) -> None:
    result = ran(body, tmp_path)
    *_, last = events(result)
    assert result.exit_code == code
    assert last.items() >= {"v": 2, "event": "run_finished", "exit_code": code}.items()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (decide("violated", expected="violated"), 0),
        (decide("holds", expected="violated"), 1),
        (decide("violated", expected="holds"), 1),
        (decide("undecided", expected="holds"), 3),
        (decide("undecided", expected="violated"), 3),
        (decide("undecided", expected="undecided"), 0),
        (decide("not exercised", expected="violated"), 1),
        (decide("violated"), 1),
    ],
)
def test_verify_compares_verdicts_with_the_expected_ones(
    body: Body, code: int, tmp_path: Path
) -> None:
    assert ran(body, tmp_path, judged_by_expectation=True).exit_code == code


def test_verdicts_before_a_bug_of_urteil_are_in_the_folder_with_the_traceback(
    tmp_path: Path,
) -> None:
    ran(fail(ZeroDivisionError("by us")), tmp_path)
    (folder,) = tmp_path.glob("2*")
    lines = (folder / "events.ndjson").read_text().splitlines()
    kept = [json.loads(line)["event"] for line in lines]
    assert kept == ["run_started", "property_decided", "run_finished"]
    assert "ZeroDivisionError: by us" in (folder / "bug.txt").read_text()
    assert json.loads((folder / "run.json").read_text())["seed"] == 0


def test_a_run_that_cannot_be_added_to_the_store_keeps_its_verdict_and_warns(
    tmp_path: Path,
) -> None:
    def damage(run: Run) -> None:
        decide("holds")(run)
        (tmp_path / "runs.sqlite").write_text("no database" * 100)

    result = ran(damage, tmp_path)
    assert result.exit_code == 0
    assert "the run is not in the store yet" in result.stderr
    assert "move runs.sqlite away" in result.stderr
    assert ran(decide("holds"), tmp_path).exit_code == 2
    (tmp_path / "runs.sqlite").unlink()
    with opened(tmp_path) as store:
        store.add_missing()
        assert [run.counts() for run in store.runs()] == ["1 holds"]


def test_a_folder_that_cannot_be_created_names_the_next_step(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = ran(decide("holds"), tmp_path / "file")
    assert result.exit_code == 2
    assert "name another by --out" in result.stderr


def test_a_command_that_cannot_start_leaves_no_folder(tmp_path: Path) -> None:
    result = ran(fail_at_once, tmp_path)
    *_, last = events(result)
    assert last.items() >= {"v": 2, "event": "run_finished", "exit_code": 2}.items()
    assert list(tmp_path.iterdir()) == []


def fail_at_once(_run: Run) -> None:
    raise InputFault("no spec 'nope'\n  the nearest: replication")


def test_a_bug_of_urteil_is_reported_even_with_quiet(tmp_path: Path) -> None:
    made = click.command("try")(command()(fail(ZeroDivisionError("by us"))))
    result = CliRunner().invoke(made, ["--quiet", "--out", str(tmp_path)])
    assert result.exit_code == 4
    assert "ZeroDivisionError: by us" in result.stderr
    assert "please report" in result.stderr


@pytest.mark.parametrize(
    ("body", "expectation", "meaning"),
    [
        (decide("holds"), False, "exit code 0: every selected claim was decided and holds"),
        (decide("holds", expected="violated"), True, "1: a verdict is not the expected one"),
        (decide("violated", expected="violated"), True, "0: every verdict is the expected one"),
    ],
)
def test_the_last_line_explains_the_exit_code(
    body: Body, expectation: bool, meaning: str, tmp_path: Path
) -> None:
    made = click.command("try")(command(judged_by_expectation=expectation)(body))
    result = CliRunner().invoke(made, ["--out", str(tmp_path)])
    assert meaning in result.stdout.splitlines()[-1]


def test_a_command_without_verdicts_ends_with_done(tmp_path: Path) -> None:
    made = click.command("try")(command(decides=False)(decide()))
    result = CliRunner().invoke(made, ["--out", str(tmp_path)])
    assert result.stdout.endswith("exit code 0: done\n")


def test_an_interrupt_that_python_drops_ends_the_run_at_its_next_progress(
    tmp_path: Path,
) -> None:
    steps: list[str] = []

    def collecting(_phase: str, _info: dict[str, int]) -> None:
        if not steps:
            steps.append("interrupted")
            signal.raise_signal(signal.SIGINT)  # in a callback of the collector: it goes lost

    def body(run: Run) -> None:
        gc.callbacks.append(collecting)
        gc.collect()
        gc.callbacks.remove(collecting)
        steps.append("went on")
        run.progress("on it")
        steps.append("not reached")

    result = ran(body, tmp_path)
    assert result.exit_code == 130
    assert steps == ["interrupted", "went on"]
    assert "Traceback" not in result.stderr


class Destroyed:
    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_in_a_destructor_ends_the_run_at_its_next_progress(tmp_path: Path) -> None:
    steps: list[str] = []

    def body(run: Run) -> None:
        Destroyed()
        steps.append("went on")
        run.progress("on it")
        steps.append("not reached")

    result = ran(body, tmp_path)
    assert result.exit_code == 130
    assert steps == ["went on"]
    assert "Traceback" not in result.stderr
