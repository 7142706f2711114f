"""The mutation campaign mutates no line that judges a spec, such as a claim."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tools.mutants.judges import judging_lines
from tools.mutants.mutations import mutants_of
from tools.mutants.parts import BY_NAME
from tools.mutants.trying import ROOT

ACTIONS = """
    class Actions:
        @action
        def write(s): ...

        @lemma
        def is_sound(s):
            return True
    """
LEMMAS = """
    class Lemmas(Actions):
        def helps(s): ...

        @invariant
        def holds(s): ...
    """
VERSION = """
    @version("v1", at={"n": 1})
    class First(Lemmas):
        def may_write(s): ...

        @witness
        def is_written(s): ...
    """
BUG = """
    @bug("writes-twice")
    class WritesTwice(First):
        @action
        def write(s): ...
    """


def judges(*parts: str) -> list[str]:
    source = "from model.language import action\nLIMIT = 1\n" + "".join(map(dedent, parts))
    lines = judging_lines(source.encode())
    return [text.strip() for n, text in enumerate(source.splitlines(), 1) if n in lines and text]


@pytest.mark.parametrize(
    ("parts", "judging"),
    [
        ((ACTIONS,), ["def is_sound(s):", "return True"]),
        ((VERSION,), ["def is_written(s): ..."]),
        (
            (ACTIONS, LEMMAS),
            [
                *("def is_sound(s):", "return True"),
                *("class Lemmas(Actions):", "def helps(s): ...", "@invariant"),
                "def holds(s): ...",
            ],
        ),
        (
            (VERSION, BUG),
            [
                "def is_written(s): ...",
                *("class WritesTwice(First):", "@action", "def write(s): ..."),
            ],
        ),
    ],
)
def test_claims_bugs_and_the_classes_of_claims_judge_a_spec(
    parts: tuple[str, ...], judging: list[str]
) -> None:
    assert judges(*parts) == judging


def test_each_line_of_a_module_judges_if_each_class_does_or_if_it_has_no_spec() -> None:
    assert "LIMIT = 1" in judges(LEMMAS, BUG)
    assert "LIMIT = 1" not in judges(LEMMAS, VERSION)
    assert judging_lines(b"class Row:\n    n = 1") == {1, 2}
    assert judging_lines(b"from model.language import when\nclass State:\n    n = 1") == frozenset()


def test_the_mutants_of_a_spec_are_neither_in_claims_nor_in_bugs_nor_in_proofs() -> None:
    def scopes(part: str) -> dict[str, set[str]]:
        """Returns the scopes of the part's mutants, by their file in the part's folder."""
        found: dict[str, set[str]] = {}
        for it in BY_NAME[f"model/{part}"].mutants(ROOT):
            file = it.file.removeprefix(f"model/{part.replace('-', '_')}/")
            found.setdefault(file, set()).add(it.scope)
        return found

    coordinator = scopes("coordinator-abstract")
    assert not [name for name in coordinator if any(it in name for it in ("bug", "claim", "proof"))]
    assert {"verification.py", "two_phase_commit.py", "continuation.py"} <= coordinator.keys()
    assert not {"log_lemmas.py", "two_phase_database.py"} & coordinator.keys()
    (kept,) = {it.partition(".")[0] for it in coordinator["continuation.py"]}
    assert kept == "ContinuationActions"
    assert scopes("replication").keys() == {"actions.py", "state.py", "versions.py"}
    assert scopes("consumer-group").keys() >= {"actions.py", "static_members.py", "state.py"}
    assert not [name for name in scopes("transactions") if name.startswith("claims/")]
    assert "proof.py" not in scopes("quorum-abstract")


def test_other_parts_leave_out_no_line() -> None:
    """Only the parts of specs leave out the lines that judge."""
    part = BY_NAME["reference_impl/transactions"]
    every = [
        it
        for file in part.files(ROOT)
        for it in mutants_of(file.relative_to(ROOT).as_posix(), file.read_bytes())
    ]
    assert [*part.mutants(ROOT)] == every
