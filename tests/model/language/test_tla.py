"""Exported TLA+ has the same names and states as the spec; `tests/tools/test_tlc.py` asks TLC."""

from __future__ import annotations

import re
from typing import Self

import pytest

from checkers.explicit.search import explore
from model.language import (
    Bool,
    Int,
    Map,
    Nothing,
    Ordered,
    Scope,
    Set,
    Sort,
    Spec,
    Temporal,
    action,
    action_property,
    all_of,
    always_eventually,
    any_of,
    count,
    eventually_always,
    everything,
    first,
    forall,
    implies,
    invariant,
    ite,
    leads_to,
    liveness,
    nothing,
    when,
    witness,
)
from model.language.tla import configuration, module
from model.specs import SPECS, find
from tests.model.tla_reading import Module


class Replica(Sort):
    pass


class Epoch(Ordered):
    pass


class Offset(Int):
    pass


class Election(Spec):
    """A spec that uses every construct of the specification language."""

    leader: Replica | Nothing
    end: Map[Replica, Offset]
    isr: Set[Replica]
    epoch: Epoch
    seen: Map[Replica, Map[Offset, Epoch]]

    def scope(s) -> Scope:
        return {Replica: 2, Epoch: 2, Offset: range(-1, 2)}

    def init(s, first_leader: Replica) -> None:
        s.isr = everything(Replica)
        s.leader = first_leader

    @action(fair="weak")
    def append(s, leader: Replica) -> None:
        """The leader appends."""
        when(s.leader == leader, s.end[leader] + 1 <= 1)
        s.seen[leader][s.end[leader]] = s.epoch
        s.end[leader] = s.end[leader] + 1

    @action(fair="strong")
    def shrink(s) -> None:
        end = first(Offset, s.end_of_all, default=Offset(0))
        s.leader = ite(count(s.isr[r] for r in Replica) == 2, s.leader, nothing)
        for r in s.isr:
            s.isr[r] = s.end[r] < end

    @action
    def elect(s, epoch: Epoch) -> None:
        when(s.leader == nothing, epoch.is_next_after(s.epoch))
        s.epoch = epoch

    def end_of_all(s, o: Offset) -> Bool:
        return forall(s.end[replica] <= o for replica in Replica)

    @invariant
    def leader_in_isr(s) -> Bool:
        return forall(implies(s.leader == r, s.isr[r] | (s.end[r] != 0)) for r in Replica)

    @action_property
    def grows(s, after: Self) -> Bool:
        return s.epoch <= after.epoch

    @liveness
    def appended(s, r: Replica) -> Temporal:
        return leads_to(s.leader == r, s.end[r] == 1)

    @liveness
    def again(s) -> Temporal:
        return always_eventually(s.leader == nothing)

    @liveness
    def rests(s) -> Temporal:
        return eventually_always(s.leader == nothing)

    @witness
    def nobody(s) -> Bool:
        return s.leader == nothing


TEXT = module(Election())


@pytest.mark.parametrize(
    "line",
    [
        "---- MODULE Election ----",
        "(* A spec that uses every construct of the specification language. *)",
        "CONSTANTS Replica, Nothing",
        "Epoch == 0..1",
        "Offset == -1..1",
        "VARIABLES leader, end, isr, epoch, seen",
        "  /\\ leader \\in (Replica \\union {Nothing})",
        "  /\\ seen \\in [Replica -> [Offset -> Epoch]]",
        "  \\E first_leader \\in Replica :",
        "  /\\ isr = [k \\in Replica |-> TRUE]",
        "  /\\ end = [k \\in Replica |-> Least(Offset)]",
        "  /\\ leader = first_leader",
        "(* The leader appends. *)",
        "Append(leader_2) ==",
        "  /\\ ((end[leader_2] + 1) <= 1)",
        "  /\\ seen' = [seen EXCEPT ![leader_2][end[leader_2]] = epoch]",
        "  /\\ end' = [end EXCEPT ![leader_2] = (end[leader_2] + 1)]",
        "  /\\ UNCHANGED <<leader, isr, epoch>>",
        "  \\/ \\E leader_2 \\in Replica : Append(leader_2)",
        "  /\\ \\A leader_2 \\in Replica : WF_vars(Append(leader_2))",
        "  /\\ SF_vars(Shrink)",
        "  [][(epoch <= epoch')]_vars",
        "  \\A r \\in Replica : ((leader = r)) ~> ((end[r] = 1))",
        "  []<>((leader = Nothing))",
        "  <>[]((leader = Nothing))",
        "  (\\A r \\in Replica : ((leader = r) => (isr[r] \\/ (end[r] # 0))))",
        "====",
    ],
)
def test_each_word_has_its_line_in_the_module(line: str) -> None:
    assert line in TEXT.splitlines()


def test_a_loop_over_a_set_keeps_the_other_cells() -> None:
    (line,) = (x for x in TEXT.splitlines() if x.startswith("  /\\ isr' ="))
    assert line.startswith("  /\\ isr' = [k \\in Replica |-> (IF isr[k] THEN (end[k] < First(")
    assert line.endswith(" ELSE isr[k])]")


def test_words_that_proofs_cannot_use_have_tla_text() -> None:
    assert "Cardinality({r \\in Replica : isr[r]})" in TEXT
    assert "First(Offset, LAMBDA s : (\\A replica \\in Replica : (end[replica] <= s)), 0)" in TEXT


def test_a_configuration_lists_constants_and_properties() -> None:
    assert configuration(Election()).split("\n\n") == [
        "SPECIFICATION Spec\nCHECK_DEADLOCK FALSE",
        "CONSTANTS\n  Replica = {replica_0, replica_1}\n  Nothing = Nothing",
        "INVARIANTS\n  TypeOK\n  LeaderInIsr",
        "PROPERTIES\n  Grows\n  Appended\n  Again\n  Rests\n",
    ]
    assert "PROPERTIES" not in configuration(Election(), names=["leader_in_isr"])


@pytest.mark.parametrize("name", SPECS)
def test_the_module_of_every_spec_is_well_formed(name: str) -> None:
    """Exported TLA+ has matching brackets and unique names; each action defines all variables."""
    spec = find(name).make()
    text = module(spec)
    for left, right in ("()", "[]", "{}"):
        assert text.count(left) == text.count(right)
    variables = [v.name.replace(".", "_") for v in spec.variables]
    bodies = re.split(r"\n\n", text)
    for made in spec.actions:
        name = "".join(word.capitalize() for word in made.name.split("_"))
        body = next(b for b in bodies if re.search(rf"^{name}(\(.*\))? ==$", b, re.MULTILINE))
        changed = re.findall(r"^  /\\ (\w+)' =", body, re.MULTILINE)
        kept = re.findall(r"\w+", (re.findall(r"UNCHANGED <<(.*)>>", body) or [""])[0])
        assert sorted([*changed, *kept]) == sorted(variables)
    for binder in re.findall(r"\\[AE] (\w+) \\in", text):
        assert binder not in variables


TINY: list[Spec] = [
    Election(),
    find("replication", "kip-101").make(
        {"replicas": 2, "max_leader_epoch": 1, "log_size": 1, "max_records": 1}
    ),
    find("transactions-abstract").make({"transactions": 1}),
    find("idempotence-abstract").make({"producers": 1, "offsets": 3}),
]


@pytest.mark.parametrize("spec", TINY, ids=lambda s: type(s).__name__)
def test_an_independent_reader_of_tla_finds_the_same_states(spec: Spec) -> None:
    """A parser of TLA+ explores the export: it finds the states and claims of the spec."""
    found, read = explore(spec), Module(module(spec), configuration(spec))
    states, generated = read.explored()
    assert (len(states), generated) == (found.distinct, found.generated)
    for claim in spec.claims:
        if claim.name in found.discoveries:
            formula = read.formula("".join(w[:1].upper() + w[1:] for w in claim.name.split("_")))
            holds = all(formula({**read.sets, **state}) for state in states)
            assert holds == (found.discoveries[claim.name].verdict == "holds")


class Tail(Spec):
    """A reader that compares its last record with a writer's: its guard is a disjunction."""

    end: Offset
    written: Map[Offset, Bool]

    def scope(s) -> Scope:
        return {Offset: range(3)}

    @action
    def write(s) -> None:
        when((s.end == 0) | s.written[s.end - 1], s.end < 2)
        s.written[s.end] = any_of()
        s.end = s.end + 1

    @action
    def mark(s) -> None:
        when(implies(s.end != 0, ~s.written[s.end - 1] | (s.end == 1)))
        s.written[Offset(0)] = all_of()


def without_equations(text: str) -> str:
    """Returns the module as it was before its disjunctive guards were written as equations."""
    bare = text.replace(" = TRUE)", ")")
    assert bare != text
    return bare


def test_a_guard_that_tlc_would_split_is_an_equation() -> None:
    spec = Tail()
    assert "  /\\ (((end = 0) \\/ written[(end - 1)]) = TRUE)" in module(spec).splitlines()
    found, read = explore(spec), Module(module(spec), configuration(spec))
    states, generated = read.explored()
    assert (len(states), generated) == (found.distinct, found.generated)


def test_the_reader_evaluates_every_branch_of_a_bare_disjunction() -> None:
    """Without the equation, the reader reads `written[-1]`, as TLC does."""
    with pytest.raises(KeyError):
        Module(without_equations(module(Tail())), configuration(Tail())).explored()


def test_the_reader_generates_a_state_for_each_true_branch() -> None:
    spec = TINY[1]
    read = Module(without_equations(module(spec)), configuration(spec))
    states, generated = read.explored()
    assert len(states) == explore(spec).distinct
    assert generated > explore(spec).generated
