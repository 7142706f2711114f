"""The mutation campaign: how mutants are made, tried, recorded, and shown on a page.

Planted mutants have the expected outcomes: they are killed, survive, time out or crash.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from model.specs import SPECS
from tools.mutants import __main__ as command
from tools.mutants import campaign
from tools.mutants.__main__ import changed_lines, main
from tools.mutants.campaign import Job, jobs
from tools.mutants.forks import Forks
from tools.mutants.mutations import Mutant, mutants_of
from tools.mutants.page import page
from tools.mutants.record import Tried, Versions, keep, kept, tried, with_reasons_of
from tools.mutants.recorded import Cache, NotGreen
from tools.mutants.rooms import BY_NAME, ROOMS, Room
from tools.mutants.trying import ROOT, Copy, Outcome, Selection, Verdict

SOURCE = b'''
"""Never changed: 1 < 2."""

LIMIT: int = 3


def is_small(n: int) -> bool:
    while n < 0:
        n += LIMIT
    return n < LIMIT


def unused(n: int) -> int:
    return n + 1


DOUBLED = [(lambda n: n * 2)(LIMIT)]


def scaled(by: int):
    return lambda n: n * by + 0
'''
TESTS = """
from model.small import DOUBLED, is_small, scaled

def test_the_limit_is_large():
    assert not is_small(3)

def test_below_zero():
    assert is_small(-3)

def test_tables():
    assert DOUBLED == [6]

def test_thrice():
    assert scaled(3)(2) == 6

def test_one_is_small():
    (small,) = filter(is_small, (2, 7))
"""


def changes(text: str) -> list[tuple[str, str, str]]:
    return [(it.operator, it.before, it.after) for it in mutants_of("f.py", text.encode())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b <= c", [("comparison", "<", "<="), ("comparison", "<=", "<")]),
        ("(a) is not (b)", [("comparison", "is not", "is")]),
        ("a not in b", [("comparison", "not in", "in")]),
        ("a and b or c", [("connective", "and", "or"), ("connective", "or", "and")]),
        ("def f(): return a | b", [("connective", "|", "&")]),
        ("Kind = A | B", []),  # a type
        ("not a", [("negation", "not a", "(a)")]),
        ("~a", [("negation", "~a", "(a)")]),
        ("b if a else c", [("negation", "a", "(not (a))")]),
        (
            "from m import exists, forall\nx = forall(a)",
            [("quantifier", "forall", "exists")],
        ),
        ("x = forall(a)", []),  # `exists` is not imported
        ("x = min(a)", [("quantifier", "min", "max")]),
        ("x = when(a, b)", [("conjunct", "a, ", ""), ("conjunct", ", b", "")]),
        ("s.x[k] = y", [("statement", "s.x[k] = y", "pass")]),
        ("x = y", []),
        ("f(x)", [("statement", "f(x)", "pass")]),
        ("x = 41", [("number", "41", "42")]),
        ("x = True", [("truth", "True", "False")]),
        ("x = f('left')", [("side", "'left'", '"right"')]),
        ("a = E.B, E.A", [("member", "E.B", "E.A"), ("member", "E.A", "E.B")]),
        ("x: Literal[1] = y", []),
        ("@at(1)\ndef f(): pass", []),
        ("assert a < b\nraise E(1)\nx = f'{1}'", []),
    ],
)
def test_each_operator_changes_one_point(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert changes(text) == expected


def test_a_mutant_differs_at_its_line_and_nowhere_else() -> None:
    for mutant in mutants_of("model/small.py", SOURCE):
        before, after = SOURCE.splitlines(), mutant.applied(SOURCE).splitlines()
        assert [n for n, (a, b) in enumerate(zip(before, after, strict=True), 1) if a != b] == [
            mutant.line
        ]


def test_a_mutant_keeps_its_name_when_lines_move_and_is_not_applied_elsewhere() -> None:
    moved = mutants_of("model/small.py", b"# a new line\n" + SOURCE)
    assert [it.id for it in moved] == [it.id for it in mutants_of("model/small.py", SOURCE)]
    assert len({it.id for it in moved}) == len(moved)
    with pytest.raises(ValueError, match="is not there any more"):
        moved[0].applied(SOURCE)


# ---------------------------------------------------------------- planted mutants


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    root = tmp_path_factory.mktemp("tree")
    for file, text in (
        ("pyproject.toml", b"[tool.pytest.ini_options]\n"),
        ("model/__init__.py", b""),
        ("model/small.py", SOURCE),
        ("tests/test_small.py", TESTS.encode()),
        ("tests/broken/conftest.py", b"import no_such_module\n"),
        ("tests/test_red.py", b"def test_red(tmp_path):\n    assert False, f'{tmp_path}/x'\n"),
    ):
        (root / file).parent.mkdir(exist_ok=True, parents=True)
        (root / file).write_bytes(text)
    made = Copy(root)
    yield made
    made.remove()
    assert not made.folder.exists()


def at(line: int, operator: str) -> Mutant:
    (one,) = [
        it
        for it in mutants_of("model/small.py", SOURCE)
        if it.line == line and it.operator == operator
    ]
    return one


SMALL = (Selection("tests/test_small.py"),)


@pytest.fixture
def forks(copy: Copy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Forks]:
    for module in ("trying", "forks"):
        monkeypatch.setattr(f"tools.mutants.{module}.TEST_CPU_S", 0.5)
    made = Forks(copy, SMALL, Cache(copy.folder, tmp_path))
    yield made
    made.close()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize(
    ("mutant", "outcome", "test", "in_a_fork"),
    [
        (at(10, "comparison"), "killed", "test_the_limit_is_large", True),
        (at(14, "connective"), "survived", "", True),  # nobody calls it
        (at(9, "statement"), "timeout", "test_below_zero", True),
        (replace(at(10, "comparison"), after="+ None <"), "crash", "", True),
        (replace(at(10, "comparison"), after="< 2 <"), "killed", "test_one_is_small", True),
        (replace(at(4, "number"), after="no_name"), "crash", "test_small.py", False),  # no import
        (at(4, "number"), "killed", "test_the_limit_is_large", False),  # a constant
        (at(17, "number"), "killed", "test_tables", False),  # called during the import
        (at(21, "connective"), "survived", "", True),  # n * by - 0 is equivalent
        (at(21, "number"), "killed", "test_thrice", True),  # the lambda has not been made yet
    ],
)
def test_a_planted_mutant_has_its_outcome_in_a_fork_and_with_new_imports(
    copy: Copy,
    forks: Forks,
    mutant: Mutant,
    outcome: str,
    test: str,
    *,
    in_a_fork: bool,
) -> None:
    forks.record(SMALL)
    slow, quick = copy.attempt(mutant, SMALL, {}), forks.attempt(mutant, SMALL)
    assert (quick is not None) == in_a_fork
    for verdict in (slow, quick or slow):
        assert verdict.outcome == outcome
        assert verdict.test.endswith(test)
    assert (copy.folder / "model/small.py").read_bytes() == SOURCE


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_begins_with_the_tests_that_call_the_changed_function(
    copy: Copy, tmp_path: Path
) -> None:
    forks = Forks(copy, SMALL, Cache(copy.folder, tmp_path))
    forks.record(SMALL)
    verdict = forks.attempt(replace(at(21, "connective"), after="*"), SMALL)
    assert verdict is not None
    assert [name.rpartition("::")[2] for name in verdict.cpu_s] == ["test_thrice"]
    forks.close()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_tests_are_recorded_once_and_again_if_they_or_the_product_change(
    copy: Copy, tmp_path: Path
) -> None:
    def recordings() -> set[str]:
        forks = Forks(copy, SMALL, Cache(copy.folder, tmp_path))
        forks.record(SMALL)
        forks.close()
        return {file.name for file in tmp_path.iterdir()}

    first = recordings()
    assert len(first) == 1
    assert recordings() == first
    for name in ("model/small.py", "tests/test_small.py"):
        file = copy.folder / name
        text = file.read_bytes()
        file.write_bytes(text + b"# changed\n")
        assert len(recordings()) == len(first) + 1
        file.write_bytes(text)
        first = recordings()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_recorded_error_names_no_temporary_folder(copy: Copy) -> None:
    verdict = copy.attempt(at(14, "connective"), (Selection("tests/test_red.py"),), {})
    assert verdict.error == "AssertionError: temporary/test_red0/x assert False"


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize(
    ("tests", "why"),
    [
        ((*SMALL, Selection("tests/test_red.py")), "test_red"),
        ((Selection("tests/test_small.py", "no such name"),), "no test ran"),
        ((Selection("tests/broken"),), "cannot be collected"),
    ],
)
def test_a_room_whose_tests_fail_without_a_mutant_judges_none(
    copy: Copy, tmp_path: Path, tests: tuple[Selection, ...], why: str
) -> None:
    with pytest.raises(NotGreen, match=why):
        Forks(copy, tests, Cache(copy.folder, tmp_path)).record(tests)


# ---------------------------------------------------------------- the choice, the record, the page


def test_each_room_has_mutants_and_tests_that_exist() -> None:
    for room in ROOMS:
        assert list(room.files(ROOT)), room.name
        assert all((ROOT / one.path).exists() for one in room.tests), room.name


def test_each_spec_has_a_room_whose_mutants_are_neither_claims_nor_proofs() -> None:
    rooms = {name.removeprefix("model/") for name in BY_NAME if name.startswith("model/")}
    assert rooms == {*SPECS}
    files = {file.relative_to(ROOT).as_posix() for room in ROOMS for file in room.files(ROOT)}
    names = ("actions.py", "actions/writing.py", "bugs.py", "claims.py", "state.py", "versions.py")
    of_one = [name for name in names if f"model/share_group/{name}" in files]
    assert of_one == ["actions/writing.py", "state.py", "versions.py"]
    assert not {"model/transactions/claims/agreement.py", "model/quorum_abstract/proof.py"} & files


def test_the_first_tests_of_a_mutant_are_those_in_the_file_of_its_name() -> None:
    def first(room: str, file: str) -> list[str]:
        return [one.path for one in next(BY_NAME[room].stages(file))]

    assert first("reference_impl/log", "reference_impl/log/compaction.py") == [
        "tests/reference_impl/log/test_compaction.py"
    ]
    assert first("literal definitions", "properties/anomalies/groups/pipelines.py") == [
        "tests/properties/anomalies/groups/test_pipelines.py"
    ]
    assert len(first("literal definitions", "properties/anomalies/scenes.py")) > 1, "all tests"


def test_the_rooms_with_the_fewest_mutants_that_are_done_come_first() -> None:
    names = ("transactions", "partition", "node")
    rooms = [BY_NAME[f"reference_impl/{name}"] for name in names]
    done = {it.id for room, n in zip(rooms, (2, 0, 4), strict=True) for it in draws(room)[:n]}
    drawn = [
        room.name.partition("/")[2] for room, _ in jobs(rooms, 1, lambda it: it.id not in done)
    ]
    turns = [name for name, before in zip(drawn, ["", *drawn], strict=False) if name != before]
    assert turns[:6] == ["partition", "transactions", "node", "partition", "transactions", "node"]


def draws(room: Room) -> list[Mutant]:
    return [mutant for _, mutant in jobs((room,), 1, lambda _: True)]


def test_a_seed_draws_the_same_mutants_of_each_room_in_turn() -> None:
    rooms = (BY_NAME["reference_impl/transactions"], BY_NAME["model/idempotence"])
    drawn = list(jobs(rooms, 1, lambda _: True, of_each=3))
    assert [room for room, _ in drawn] == [room for room in rooms for _ in range(3)]
    assert drawn == list(jobs(rooms, 1, lambda _: True, of_each=3))
    assert drawn != list(jobs(rooms, 2, lambda _: True, of_each=3))
    done = {drawn[0][1].id}
    left = list(jobs(rooms, 1, lambda it: it.id not in done, of_each=3))
    assert left == drawn[3:] + drawn[1:3], "fewer are done in the second room"


def is_killed(job: Job, *, slowly: bool) -> Tried:
    room, mutant = job
    return tried(room.name, mutant, Verdict(outcome="crash" if slowly else "killed"))


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


def test_the_page_has_a_score_for_each_room_and_each_survivor_with_its_reason() -> None:
    open_ = replace(SURVIVOR, id="model/small.py#0", reason="", before="a | b")
    crash = replace(KILLED, outcome="crash")
    text = page([KILLED, KILLED, SURVIVOR, open_, crash], {"model": 1_234, "other": 5})
    assert "| model | 1,234 | 5 | 2 | 2 | 1 | 0 | 1 | 50 % |" in text
    assert "| other | 5 | 0 | 0 | 0 | 0 | 0 | 0 |  |" in text
    assert "| small.py:14 unused | connective: `` + `` → `` - `` | nobody calls it |" in text
    assert r"`` a \| b ``" in text
    assert "| open |" in text


def test_the_kept_record_names_rooms_that_exist() -> None:
    rows: dict[str, Tried] = kept()
    assert rows
    assert {row.room for row in rows.values()} <= BY_NAME.keys()


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
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    room = BY_NAME["reference_impl/transactions"]
    ours = [mutant for _, mutant in jobs((room,), 1, lambda _: True)][:40]
    line = ours[0].line
    here = [it for it in ours if (it.file, it.line) == (ours[0].file, line)]
    diff = f"+++ b/{ours[0].file}\n@@ -{line} +{line} @@"
    monkeypatch.setattr(command, "_git_diff", lambda base: diff if base == "v1" else "")
    result: Outcome = "survived"

    def outcomes(todo: Iterator[Job], **_: object) -> Iterator[Tried]:
        for one, mutant in todo:
            if mutant == here[0]:
                yield tried(one.name, mutant, Verdict(outcome=result))

    monkeypatch.setattr(command, "outcomes", outcomes)
    changed = ["--room", room.name, "--changed", "--base", "v1"]
    assert main(changed) == 1
    printed = capsys.readouterr().out
    assert f"{here[0].file}:{line}: " in printed
    assert "mutants of changed lines: 1 survived" in printed
    result = "killed"
    assert main(changed) == 0
    assert main(["--room", room.name, "--changed"]) == 0
    assert capsys.readouterr().out.endswith("0 mutants of changed lines: none tried\n")


@pytest.mark.parametrize(("slow", "code"), [("killed", 0), ("crash", 0), ("survived", 1)])
def test_a_mutant_that_survives_in_one_of_two_ways_fails(
    slow: Outcome, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def outcomes(todo: Iterator[Job], *, slowly: bool, **_: object) -> Iterator[Tried]:
        (one, mutant), *_others = todo
        yield tried(one.name, mutant, Verdict(outcome=slow if slowly else "killed"))

    monkeypatch.setattr(command, "outcomes", outcomes)
    assert main(["--room", "reference_impl/transactions", "--both-ways"]) == code
    differ = int(slow != "killed")
    assert f"1 mutants tried both ways: {differ} outcomes differ" in capsys.readouterr().out


def test_an_unknown_room_lists_the_nearest() -> None:
    with pytest.raises(Exception, match="no room 'transaction_log'; the nearest"):
        main(["--room", "transaction_log"])
