"""The mutation campaign: which mutants are tried, and how results are recorded and shown."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from model.specs import SPECS
from tests.tools.planted_mutants import at
from tools.mutants import __main__ as command
from tools.mutants import campaign
from tools.mutants.__main__ import changed_lines, main
from tools.mutants.campaign import Job, jobs
from tools.mutants.mutations import Mutant
from tools.mutants.page import is_undefended, page
from tools.mutants.parts import BY_NAME, PARTS, Part
from tools.mutants.record import (
    Tried,
    Versions,
    at_their_points,
    keep,
    kept,
    tried,
    with_reasons_of,
)
from tools.mutants.trying import ROOT, Outcome, Verdict


def test_each_part_has_mutants_and_tests_that_exist() -> None:
    for part in PARTS:
        assert next(part.mutants(ROOT), None), part.name
        assert all((ROOT / one.path).exists() for one in part.all_tests), part.name


def test_each_spec_has_a_part() -> None:
    parts = {name.removeprefix("model/") for name in BY_NAME if name.startswith("model/")}
    assert parts == {*SPECS}


def test_a_spec_is_judged_at_and_beyond_its_default_bounds() -> None:
    bounds = BY_NAME["model/quorum"].tests[0]
    file = "tests/model/test_default_bounds.py"
    assert bounds.has(f"{file}::test_counts[quorum]")
    assert bounds.has(f"{file}::test_counts_beyond[a failed replica of quorum]")
    assert not bounds.has(f"{file}::test_counts[quorum-abstract]")


def test_the_first_tests_of_a_mutant_are_those_in_the_file_of_its_name() -> None:
    def first(part: str, file: str) -> list[str]:
        return [one.path for one in next(BY_NAME[part].stages(file))]

    assert first("reference_impl/log", "reference_impl/log/compaction.py") == [
        "tests/reference_impl/log/test_compaction.py"
    ]
    assert first("literal definitions", "properties/anomalies/groups/pipelines.py") == [
        "tests/properties/anomalies/groups/test_pipelines.py"
    ]
    assert len(first("literal definitions", "properties/anomalies/scenes.py")) > 1, "all tests"


def test_a_kernel_is_judged_by_its_own_tests_and_then_by_the_agreement_too() -> None:
    part = BY_NAME["kernels/log"]
    own, every = part.stages("checkers/histories/anomalies/log/keys.py")
    assert [one.path for one in own] == ["tests/checkers/histories/anomalies/log"]
    assert every == part.all_tests
    assert "tests/checkers/histories/test_ties.py" in [one.path for one in every]


def test_the_parts_with_the_fewest_mutants_that_are_done_come_first() -> None:
    names = ("transactions", "partition", "node")
    parts = [BY_NAME[f"reference_impl/{name}"] for name in names]
    done = {it.id for part, n in zip(parts, (2, 0, 4), strict=True) for it in draws(part)[:n]}
    drawn = [
        part.name.partition("/")[2] for part, _ in jobs(parts, 1, lambda it: it.id not in done)
    ]
    turns = [name for name, before in zip(drawn, ["", *drawn], strict=False) if name != before]
    assert turns[:6] == ["partition", "transactions", "node", "partition", "transactions", "node"]


def draws(part: Part) -> list[Mutant]:
    return [mutant for _, mutant in jobs((part,), 1, lambda _: True)]


def test_a_seed_draws_the_same_mutants_of_each_part_in_turn() -> None:
    parts = (BY_NAME["reference_impl/transactions"], BY_NAME["model/idempotence"])
    drawn = list(jobs(parts, 1, lambda _: True, of_each=3))
    assert [part for part, _ in drawn] == [part for part in parts for _ in range(3)]
    assert drawn == list(jobs(parts, 1, lambda _: True, of_each=3))
    assert drawn != list(jobs(parts, 2, lambda _: True, of_each=3))
    done = {drawn[0][1].id}
    left = list(jobs(parts, 1, lambda it: it.id not in done, of_each=3))
    assert left == drawn[3:] + drawn[1:3], "fewer are done in the second part"


def test_a_pattern_draws_mutants_of_the_files_that_match_it() -> None:
    parts = (BY_NAME["model/election"], BY_NAME["model/quorum"])
    drawn = list(jobs(parts, 1, lambda _: True, of_each=3, files="model/*/actions/*s.py"))
    assert [part for part, _ in drawn] == [part for part in parts for _ in range(3)]
    assert {Path(it.file).parent.name for _, it in drawn} == {"actions"}
    assert all(it.file.endswith("s.py") for _, it in drawn)


def test_a_pattern_that_matches_no_file_of_the_parts_is_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--part", "model/quorum", "--file", "model/election/*"])
    assert ended.value.code == 2
    assert "no file of model/quorum matches 'model/election/*'" in capsys.readouterr().err


def is_killed(job: Job, *, slowly: bool) -> Tried:
    part, mutant = job
    return tried(part.name, mutant, Verdict(outcome="crash" if slowly else "killed"))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_each_mutant_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "_attempt", is_killed)
    monkeypatch.setattr(campaign, "_open", int)
    todo = list(jobs((BY_NAME["model/idempotence"],), 1, lambda _: True, of_each=11))
    rows = list(campaign.outcomes(iter(todo), until=time.monotonic() + 60, processes=2))
    assert [row.id for row in rows] == [mutant.id for _, mutant in todo]


VERSIONS = Versions(seed=1, python="3", pytest="9", hypothesis="6")
KILLED = tried("model", at(10, "comparison"), Verdict(outcome="killed", test="test_a"))
SURVIVOR = replace(
    tried("model", at(14, "connective"), Verdict(outcome="survived")), reason="nobody calls it"
)


def test_the_record_is_read_as_written(tmp_path: Path) -> None:
    assert kept(tmp_path / "none.json") == {}
    file = tmp_path / "mutants.json"
    keep(VERSIONS, [SURVIVOR, KILLED], file)
    assert kept(file) == {KILLED.id: KILLED, SURVIVOR.id: SURVIVOR}
    assert json.loads(file.read_text())["versions"]["seed"] == 1


def test_a_recorded_mutant_moves_with_its_line_and_goes_with_its_point() -> None:
    mutant = at(10, "comparison")
    moved = replace(mutant, line=mutant.line + 7)
    rows = {KILLED.id: KILLED, SURVIVOR.id: SURVIVOR}
    assert [*at_their_points(rows, [moved])] == [replace(KILLED, line=17)]
    assert [*at_their_points({}, [moved])] == []


def test_a_reason_stays_while_its_mutant_survives() -> None:
    again = replace(SURVIVOR, reason="")
    assert with_reasons_of(SURVIVOR, again) == SURVIVOR
    assert with_reasons_of(None, again) == again
    assert with_reasons_of(SURVIVOR, KILLED) == KILLED


def test_a_survivor_or_a_crash_with_a_reason_is_not_tried_again() -> None:
    mutant = at(14, "connective")
    survivor = replace(SURVIVOR, reason="")
    for row, again in (
        (SURVIVOR, ()),
        (survivor, ("survived",)),
        (replace(survivor, outcome="crash"), ("crash",)),
        (replace(SURVIVOR, outcome="crash"), ()),
    ):
        assert campaign.is_open({row.id: row}, "survived")(mutant) is ("survived" in again)
        assert campaign.is_open({row.id: row}, "crash")(mutant) is ("crash" in again)
    assert not campaign.is_open({}, "survived")(mutant)


def test_the_page_has_both_scores_of_each_part_and_each_survivor_with_its_reason() -> None:
    open_ = replace(SURVIVOR, id="model/small.py#0", reason="", before="a | b")
    crash = replace(KILLED, outcome="crash")
    text = page([KILLED, KILLED, SURVIVOR, open_, crash], {"model": 1_234, "other": 5})
    assert "| model | 1,234 | 5 | 2 | 2 | 1 | 0 | 1 | 50 % | 66 % |" in text
    assert "| other | 5 | 0 | 0 | 0 | 0 | 0 | 0 |  |  |" in text
    assert "| small.py:14 unused | connective: `` + `` → `` - `` | nobody calls it |" in text
    assert r"`` a \| b ``" in text
    assert "| open |" in text


def test_the_page_lists_each_crash_and_whether_a_value_came_back() -> None:
    crash = replace(KILLED, outcome="crash", test="f.py::test_a", error="KeyError: 1", reason="")
    rows = [
        replace(crash, id=f"model/{name}.py#0", **changes)
        for name, changes in (
            ("each", {"ran": 1_200, "raised": 1_200}),
            ("some", {"ran": 7, "raised": 3}),
            ("uncounted", {}),
            ("imports", {"test": "f.py"}),
            ("known", {"ran": 7, "raised": 3, "reason": "no reader"}),
        )
    ]
    lines = [line for line in page(rows, {"model": 9}).splitlines() if "KeyError: 1" in line]
    ends = [line.rpartition("`` KeyError: 1 ``")[2] for line in lines]
    assert ends == [
        " | 1,200 of 1,200 | no value |",
        " |  | no value |",
        " | 3 of 7 | no reader |",
        " | 3 of 7 | open |",
        " |  | open |",
    ]


def test_the_calls_of_a_crash_are_recorded() -> None:
    verdict = Verdict(outcome="crash", ran=7, raised=3)
    row = tried("model", at(10, "comparison"), verdict)
    assert (row.ran, row.raised) == (7, 3)
    row = tried("model", at(10, "comparison"), replace(verdict, outcome="killed"))
    assert (row.ran, row.raised) == (0, 0)


def test_the_kept_record_names_parts_that_exist() -> None:
    rows: dict[str, Tried] = kept()
    assert rows
    assert {row.room for row in rows.values()} <= BY_NAME.keys()


def test_every_mutant_of_the_kept_record_is_killed_or_explained() -> None:
    assert [row for row in kept().values() if is_undefended(row)] == []


def test_the_changed_lines_of_a_diff_are_those_after_it() -> None:
    diff = "\n".join(
        (
            "--- a/f.py",
            "+++ b/f.py",
            "@@ -1 +1 @@",
            "@@ -5,2 +7,3 @@ def f():",
            "@@ -9 +12,0 @@",
        )
    )
    assert changed_lines(diff) == {"f.py": {1, 7, 8, 9}}


def test_the_mutants_of_changed_lines_are_tried_and_a_survivor_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    part = BY_NAME["reference_impl/transactions"]
    ours = [mutant for _, mutant in jobs((part,), 1, lambda _: True)][:40]
    line = ours[0].line
    here = [it for it in ours if (it.file, it.line) == (ours[0].file, line)]
    diff = f"+++ b/{ours[0].file}\n@@ -{line} +{line} @@"
    monkeypatch.setattr(command, "_git_diff", lambda base: diff if base == "v1" else "")
    verdict = Verdict(outcome="survived")

    def outcomes(todo: Iterator[Job], **_: object) -> Iterator[Tried]:
        for one, mutant in todo:
            if mutant == here[0]:
                yield tried(one.name, mutant, verdict)

    monkeypatch.setattr(command, "outcomes", outcomes)
    record = tmp_path / "mutants.json"
    changed = ["--part", part.name, "--changed", "--base", "v1", "--record", str(record)]
    assert main(changed) == 1
    printed = capsys.readouterr().out
    assert f"{here[0].file}:{line}: " in printed
    assert "mutants of changed lines: 1 survived" in printed
    assert f"{here[0].before} -> {here[0].after}: survived, without a reason" in printed

    survivor = tried(part.name, here[0], verdict)
    keep(Versions(seed=1, python="", pytest="", hypothesis=""), [survivor], record)
    assert main(changed) == 1
    explained = replace(survivor, reason="equivalent: nobody reads it")
    keep(Versions(seed=1, python="", pytest="", hypothesis=""), [explained], record)
    assert main(changed) == 0

    verdict = Verdict(outcome="crash", test="tests/t.py::test", ran=2, raised=1)
    assert main(changed) == 1
    verdict = Verdict(outcome="crash", test="tests/t.py::test", ran=2, raised=2)
    assert main(changed) == 0
    verdict = Verdict(outcome="killed")
    assert main(changed) == 0
    capsys.readouterr()
    assert main(["--part", part.name, "--changed"]) == 0
    assert capsys.readouterr().out.endswith("0 mutants of changed lines: none tried\n")


@pytest.mark.parametrize(("slow", "code"), [("killed", 0), ("crash", 0), ("survived", 1)])
def test_a_mutant_that_survives_in_one_of_two_ways_fails(
    slow: Outcome, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def outcomes(todo: Iterator[Job], *, slowly: bool, **_: object) -> Iterator[Tried]:
        (one, mutant), *_others = todo
        yield tried(one.name, mutant, Verdict(outcome=slow if slowly else "killed"))

    monkeypatch.setattr(command, "outcomes", outcomes)
    assert main(["--part", "reference_impl/transactions", "--both-ways"]) == code
    differ = int(slow != "killed")
    assert f"1 mutants tried both ways: {differ} outcomes differ" in capsys.readouterr().out


def test_the_name_of_a_part_chooses_it_alone_and_other_text_all_names_that_contain_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen: list[str] = []

    def no_jobs(parts: Sequence[Part], *_: object, **__: object) -> Iterator[Job]:
        chosen[:] = [part.name for part in parts]
        return iter(())

    monkeypatch.setattr(command, "jobs", no_jobs)
    monkeypatch.setattr(command, "outcomes", lambda *_, **__: iter(()))
    main(["--part", "model/quorum", "--both-ways"])
    assert chosen == ["model/quorum"]
    main(["--part", "quorum", "--both-ways"])
    assert chosen == ["model/quorum", "model/quorum-abstract"]


def test_an_unknown_part_lists_the_nearest() -> None:
    with pytest.raises(Exception, match="no part 'transaction_log'; the nearest"):
        main(["--part", "transaction_log"])
