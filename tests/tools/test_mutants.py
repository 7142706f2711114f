"""The mutation campaign: how mutants are made and tried.

Planted mutants have the expected outcomes: they are killed, survive, time out or crash.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tools.planted_mutants import SOURCE, at
from tools.mutants.forks import Forks
from tools.mutants.mutations import Mutant, mutants_of
from tools.mutants.recorded import Cache, NotGreen
from tools.mutants.trying import Copy, Selection

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
        ("x = zip(a, b, strict=True)", []),  # asserts that the lengths are equal
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
        ("tests/whole/conftest.py", b"import model.small\n"),
        ("tests/whole/test_nothing.py", b"def test_nothing():\n    pass\n"),
        ("tests/test_red.py", b"def test_red(tmp_path):\n    assert False, f'{tmp_path}/x'\n"),
    ):
        (root / file).parent.mkdir(exist_ok=True, parents=True)
        (root / file).write_bytes(text)
    made = Copy(root)
    yield made
    made.remove()
    assert not made.folder.exists()


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
def test_a_fork_counts_the_calls_that_ran_the_changed_line(forks: Forks) -> None:
    forks.record(SMALL)
    crash = at(10, "comparison")
    for after, ran, raised in (("+ None <", 3, 3), ("< 1 / n * n *", 4, 1)):
        verdict = forks.attempt(replace(crash, after=after), SMALL)
        assert verdict is not None
        assert (verdict.ran, verdict.raised) == (ran, raised)


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
def test_a_mutant_that_a_conftest_cannot_import_does_not_survive(copy: Copy) -> None:
    mutant, tests = replace(at(4, "number"), after="no_name"), (Selection("tests/whole"),)
    assert copy.attempt(mutant, tests, {}).outcome == "crash"


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
