"""The error for a mistake in a user's spec names the mistake, its line, and what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkers.explicit.search import explore
from model.language import SpecError
from model.specs import all_variants, find
from model.user_specs import read_whole
from model.variants import Variant

HEAD = """\
from __future__ import annotations

from typing import Self

from model.language import *


class Vote(Int):
    pass


class Voter(Sort):
    pass


"""
FIRST = HEAD.count("\n") + 1  # the line of the file at which the text of a test begins


def error(tmp_path: Path, text: str) -> str:
    path = tmp_path / "voting.py"
    path.write_text(HEAD + text)
    with pytest.raises(SpecError) as caught:
        _read(path)
    return str(caught.value).replace(f"{tmp_path}/", "")


def _read(path: Path) -> None:
    variant = find(str(path))
    read_whole(variant, variant.make())


def test_a_property_that_returns_a_python_value_is_named_with_its_line(tmp_path: Path) -> None:
    text = """\
class Voting(Spec):
    votes: Map[Voter, Vote]

    @invariant
    def bounded(s) -> Bool:
        return 1 < 2
"""
    assert error(tmp_path, text).startswith(
        f"voting.py:{FIRST + 3}: Voting.bounded: the invariant returns True, which is not a"
        " formula of the spec\n  return a comparison of terms"
    )


@pytest.mark.parametrize(
    ("returns", "shown"),
    [
        ("return", "None"),
        ('return {"Voter": "3"}', "{'Voter': '3'}"),
        ("return {3: 3}", "{3: 3}"),
        ("return [3]", "[3]"),
    ],
)
def test_a_scope_that_gives_no_elements_is_named_with_its_line(
    tmp_path: Path, returns: str, shown: str
) -> None:
    text = f"""\
class Voting(Spec):
    votes: Map[Voter, Vote]

    def scope(s) -> Scope:
        {returns}
"""
    assert error(tmp_path, text) == (
        f"voting.py:{FIRST + 3}: Voting.scope: scope returns {shown}\n"
        "  return the number of elements of each sort, for example {Replica: 2}"
    )


def test_the_error_for_an_empty_scope_names_the_sort_and_an_example(tmp_path: Path) -> None:
    path = tmp_path / "voting.py"
    path.write_text(
        HEAD
        + """\
class Voting(Spec):
    votes: Map[Voter, Vote]

    def scope(s) -> Scope:
        return Scope()
"""
    )
    _read(path)
    with pytest.raises(SpecError, match=r"(?s)no scope for the sort Voter.*\{Voter: 2\}"):
        explore(find(str(path)).make())


@pytest.mark.parametrize("role", ["invariant", "lemma", "witness"])
def test_a_property_without_return_is_named_with_its_line(tmp_path: Path, role: str) -> None:
    text = f"""\
class Voting(Spec):
    votes: Map[Voter, Vote]

    @{role}
    def bounded(s) -> Bool:
        forall(s.votes[v] <= 2 for v in Voter)
"""
    assert error(tmp_path, text) == (
        f"voting.py:{FIRST + 3}: Voting.bounded: the {role} returns nothing\n"
        "  end it with `return` and a formula"
    )


def test_a_liveness_property_without_return_is_named_with_its_line(tmp_path: Path) -> None:
    text = """\
class Voting(Spec):
    votes: Map[Voter, Vote]

    @liveness
    def ends(s) -> Temporal:
        eventually(forall(s.votes[v] == 2 for v in Voter))
"""
    assert f"voting.py:{FIRST + 3}: Voting.ends: the liveness property returns nothing" in error(
        tmp_path, text
    )


@pytest.mark.parametrize(
    ("use", "line"),
    [
        ("@invariant\n    def p(s) -> Bool:\n        return forall(s.low(v) for v in Voter)", 9),
        ("@action\n    def p(s, v: Voter) -> None:\n        when(s.low(v))", 9),
        ("@liveness\n    def p(s, v: Voter) -> Temporal:\n        return eventually(s.low(v))", 9),
    ],
)
def test_a_function_without_return_is_named_where_its_value_is_used(
    tmp_path: Path, use: str, line: int
) -> None:
    text = f"""\
class Voting(Spec):
    votes: Map[Voter, Vote]

    def low(s, v: Voter) -> Bool:
        s.votes[v] <= 1

    {use.split(chr(10))[0]}
    {chr(10).join(use.split(chr(10))[1:]).lstrip()}
"""
    assert error(tmp_path, text) == (
        f"voting.py:{FIRST + line - 1}: Voting.p: low, line {FIRST + 3}, returns nothing\n"
        "  end it with `return` and a formula"
    )


@pytest.mark.parametrize(
    ("annotation", "mistake"),
    [
        ("x: str", "x has the type str\n  a state variable is a sort, Map[K, V]"),
        ("x: float = 0.5", "x has the type float\n  a state variable is"),
        ("x: dict[Voter, Vote]", "x has the type dict[Voter, Vote]\n"),
        ("x: Map[Voter, str]", "str cannot be the value of a map\n  use a sort"),
        ("x: Map[str, Vote]", "str cannot be the key of a map\n  use a sort"),
        ("x: str | Nothing", "x has the type str | Nothing\n"),
    ],
)
def test_an_annotation_that_declares_nothing_is_reported_at_its_line(
    tmp_path: Path, annotation: str, mistake: str
) -> None:
    text = f"""\
class Voting(Spec):
    votes: Map[Voter, Vote]
    {annotation}

    @invariant
    def bounded(s) -> Bool:
        return s.x == "later"
"""
    assert error(tmp_path, text).startswith(f"voting.py:{FIRST + 2}: Voting: {mistake}")


def test_a_constant_without_a_default_is_reported_at_its_line(tmp_path: Path) -> None:
    text = """\
class Voting(Spec):
    votes: Map[Voter, Vote]
    rounds: int
"""
    assert error(tmp_path, text) == (
        f"voting.py:{FIRST + 2}: Voting: the constant rounds has no default\n"
        "  write rounds: int = ..."
    )


def test_a_field_that_is_no_part_of_a_state_is_reported_at_its_line(tmp_path: Path) -> None:
    text = """\
class Ballot(Record):
    vote: Vote
    name: str


class Voting(Spec):
    ballots: Map[Voter, Ballot]
"""
    assert error(tmp_path, text).startswith(
        f"voting.py:{FIRST + 2}: Ballot: the field name has the type str\n"
    )


@pytest.mark.parametrize(
    ("role", "body", "mistake"),
    [
        ("action", "when(s.voters[v] == 1)", "Honest has no variable 'voters'"),
        ("invariant", "return s.votes[v] == s.vote", "has no variable 'vote'"),
    ],
)
def test_a_mistake_in_a_method_that_a_variant_replaces_is_reported(
    tmp_path: Path, role: str, body: str, mistake: str
) -> None:
    parameters, result = ("s, v: Voter", "None") if role == "action" else ("s", "Bool")
    right = "when(s.votes[v] == 0)" if role == "action" else "return true"
    text = f"""\
class Voting(Spec):
    votes: Map[Voter, Vote]

    @{role}
    def step({parameters}) -> {result}:
        {body}


class Honest(Voting):
    @{role}
    def step({parameters}) -> {result}:
        {right}
"""
    shown = error(tmp_path, text)
    assert shown.startswith(f"voting.py:{FIRST + 5}: ")
    assert mistake in shown or "name 'v' is not defined" in shown


@pytest.mark.parametrize("variant", all_variants(), ids=lambda v: f"{v.spec} {v.name}")
def test_methods_that_variants_replace_are_well_formed(variant: Variant) -> None:
    variant.make().check_replaced()


def test_an_unknown_constant_is_reported_with_the_names_of_the_spec_and_its_variant() -> None:
    with pytest.raises(SpecError) as caught:
        find("replication", "kip-279").make({"replica": 3})
    assert str(caught.value).startswith(
        "replication kip-279 has no constant 'replica'; the nearest"
    )
