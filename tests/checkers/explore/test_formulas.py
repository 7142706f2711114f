"""A formula of the user is parsed as if it stood in the spec; an error names the position."""

from __future__ import annotations

import pytest

from checkers.explore.formulas import LONGEST, FormulaFault, formula
from model.language.expressions import open_loops
from model.language.scope import ranges_of
from model.language.show import show
from model.language.spec import Spec
from model.specs import SPECS, find
from tests.checkers.explore.explorers import walk_of


@pytest.fixture(scope="module")
def spec() -> Spec:
    return find("replication", "truncate-to-hw").make({"replicas": 2})


def read(spec: Spec, text: str) -> str:
    return show(formula(spec, ranges_of(spec.scope()), text))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("next_id > 0", "0 < next_id"),
        ("s.next_id == 1", "next_id == 1"),
        ("log[b0].has_offset(0)", "0 < log.end_offset[0]"),
        ("replica[b1].leader == b0", "replica.leader[1] == 0"),
        ("replica[b1].leader == nothing", "replica.leader[1] == nothing"),
        ("replica[b0].isr == {b0}",
         "forall(replica.isr[0][replica] == (replica == 0) for replica in Replica)"),
        ("all_of(next_id == 1,\n  ~(log[b0].end_offset == 0))",
         "(next_id == 1) & (log.end_offset[0] != 0)"),
        ("forall(implies(replica[b].leader == b, log[b].end_offset > 0) for b in Replica)",
         "forall((replica.leader[b] == b) => (0 < log.end_offset[b]) for b in Replica)"),
        ("true", "true"),
    ],
)  # fmt: skip
def test_a_formula_of_the_user_is_parsed(spec: Spec, text: str, shown: str) -> None:
    assert read(spec, text) == shown


def test_a_claim_of_the_spec_is_a_formula(spec: Spec) -> None:
    claim = next(claim for claim in spec.claims if claim.name == "weak_isr")
    assert read(spec, "weak_isr()") == show(claim.formula)


@pytest.mark.parametrize("name", SPECS)
def test_a_claim_of_every_spec_can_be_searched_for(name: str) -> None:
    spec = walk_of(name).spec
    for claim in spec.claims[:2]:
        assert read(spec, f"~{claim.name}()")


@pytest.mark.parametrize(
    ("text", "marked", "message"),
    [
        ("", "", "the formula is empty"),
        ("next_id >", ">", "not an expression: invalid syntax"),
        ("nxt_id > 1", "nxt_id", "no name 'nxt_id' in replication truncate-to-hw; the nearest:"),
        ("log[b0].ende == 1", "log[b0].ende", "no variable, field or predicate 'ende'"),
        ("next_id", "next_id", "this is a term of RecordId; write a formula"),
        ("true & (log[b0].end_offset > 1 and next_id == 1)",
         "log[b0].end_offset > 1 and next_id == 1",
         "in a spec, write all_of(...), any_of(...)"),
        ("not true", "not true", "a term has no truth value"),
        ("forall(log[b].end_offset == 1 & true for b in Replica)", "log[b].end_offset == 1 & true",
         "& and | bind tighter than a comparison"),
        ("next_id == 1 & log[0].end_offset == 1", "next_id == 1 & log[0].end_offset == 1", "bind"),
        ("true | (log[0].end_offset == 1)", "log[0]", "a map needs an element such as b0"),
        ("replica[b0].leader == log[b0].end_offset", "replica[b0].leader == log[b0].end_offset",
         "a term of Replica is compared with"),
        ("next_id == 'one'", "'one'", "'one' is no value of a spec"),
        ("forall(true for s in Replica)", "s", "'s' is a name of the spec"),
    ],
)  # fmt: skip
def test_an_error_names_the_position_of_the_mistake(
    spec: Spec, text: str, marked: str, message: str
) -> None:
    with pytest.raises(FormulaFault) as caught:
        read(spec, text)
    assert message in str(caught.value)
    assert text[caught.value.start : caught.value.end] == marked


@pytest.mark.parametrize(
    "text",
    [
        "(r for r in Replica).gi_frame",
        "s.__class__",
        "forall.__globals__",
        "__import__('os')",
        "open('f')",
        "[x for x in Replica]",
        "(lambda: true)()",
        "f'{s}'",
        "s._recorder",
        "s.unchecked(1)",
        "s.init()",
        "s.leader_write(b0)",
        "(x := true)",
        "await true",
        "2 ** 99999 == 1",
    ],
)
def test_text_that_is_no_formula_is_not_evaluated(spec: Spec, text: str) -> None:
    with pytest.raises(FormulaFault):
        read(spec, text)


def test_a_long_or_deep_formula_is_refused(spec: Spec) -> None:
    for text in ("~" * LONGEST + "true", "(" * 900 + "true" + ")" * 900, "~" * 1990 + "true"):
        with pytest.raises(FormulaFault):
            read(spec, text)


def test_after_an_error_the_spec_language_still_works(spec: Spec) -> None:
    with pytest.raises(FormulaFault):
        read(spec, "forall(log[b] == 1 for b in Replica)")
    assert open_loops == []
    assert read(spec, "next_id > 0") == "0 < next_id"
