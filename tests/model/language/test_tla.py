"""Exported TLA+ has the same names and states as the spec; `tests/tools/test_tlc.py` runs TLC."""

from __future__ import annotations

import os
import re
import subprocess
import sys
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
    always_eventually,
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
        "------------------------------ MODULE Election -------------------------------",
        "CONSTANTS Replica, Nothing, LastOffset, LastEpoch",
        "Epoch == 0..LastEpoch",
        "Offset == -1..LastOffset",
        "  Permutations(Replica)",
        "VARIABLES leader, end, isr, epoch, seen",
        "  /\\ leader \\in Replica \\union {Nothing}",
        "  /\\ isr \\in SUBSET Replica",
        "  /\\ seen \\in [Replica -> [Offset -> Epoch]]",
        "  \\E first_leader \\in Replica :",
        "    /\\ isr = Replica",
        "    /\\ end = [replica \\in Replica |-> -1]",
        "    /\\ leader = first_leader",
        "(* The leader appends. *)",
        "Append(l) ==",
        "  /\\ end[l] + 1 <= 1",
        "  /\\ seen' = [seen EXCEPT ![l][end[l]] = epoch]",
        "  /\\ end' = [end EXCEPT ![l] = end[l] + 1]",
        "  /\\ UNCHANGED <<leader, isr, epoch>>",
        "  \\/ \\E l \\in Replica : Append(l)",
        "  /\\ \\A l \\in Replica : WF_vars(Append(l))",
        "  /\\ SF_vars(Shrink)",
        "Grows == [][epoch <= epoch']_vars",
        "Appended == \\A r \\in Replica : (leader = r) ~> (end[r] = 1)",
        "Again == []<>(leader = Nothing)",
        "Rests == <>[](leader = Nothing)",
        "LeaderInIsr == \\A r \\in Replica : leader = r => r \\in isr \\/ end[r] # 0",
        "NeverNobody == ~Nobody",
    ],
)
def test_each_word_has_its_line_in_the_module(line: str) -> None:
    assert line in TEXT.splitlines()


def test_a_loop_over_a_set_keeps_the_other_elements() -> None:
    """The loop `for r in isr: isr[r] = ...` changes nothing outside of isr, in TLA+ too."""
    start = TEXT.index("  /\\ isr' =")
    update = " ".join(TEXT[start : TEXT.index("  /\\ UNCHANGED", start)].split())
    assert update.startswith("/\\ isr' = {r \\in Replica : IF r \\in isr THEN end[r] < First(")
    assert update.endswith(" ELSE r \\in isr}")


def test_words_that_proofs_cannot_use_have_tla_text() -> None:
    assert "Cardinality(isr) = 2" in TEXT
    assert "EndOfAll(o) == \\A replica \\in Replica : end[replica] <= o" in TEXT
    assert "First(Offset, LAMBDA s : EndOfAll(s), 0)" in TEXT


def test_the_header_names_the_spec_its_scope_and_the_command() -> None:
    made = module(find("replication", "kip-101").make({"replicas": 2}))
    for line in (
        "Spec     replication, variant kip-101",
        "Scope    replicas 2, log_size 2, max_records 2, max_leader_epoch 1, as_published false",
        "Fixed    as_published: export again to change them",
        "Made by  urteil export replication --variant kip-101 --set replicas=2",
    ):
        assert line in made
        assert line in configuration(find("replication", "kip-101").make({"replicas": 2}))


def test_constants_of_the_spec_are_constants_of_the_module() -> None:
    """The module declares the constants; only the configuration file has their values."""
    small, large = (
        find("replication", "kip-320").make({"replicas": r, "log_size": k, "max_leader_epoch": e})
        for r, k, e in ((2, 1, 1), (3, 4, 2))
    )
    assert without_header(module(small)) == without_header(module(large))
    assert "  /\\ log[leader].end_offset < LogSize\n" in module(small)
    assert "  LogSize = 4\n" in configuration(large)
    assert "Replica = {replica_0, replica_1, replica_2}" in configuration(large)


def without_header(text: str) -> str:
    return text[text.index("EXTENDS") :]


class Least(Spec):
    """A spec with min(size, most), which its TLA+ module writes as the number 2."""

    size: int = 2
    most: int = 3
    end: Offset

    def scope(s) -> Scope:
        return {Offset: range(s.size + 1)}

    @action
    def grow(s) -> None:
        when(s.end < min(s.size, s.most))
        s.end = s.end + 1


def test_a_constant_of_which_the_spec_takes_the_least_is_fixed() -> None:
    text = module(Least())
    assert "end < 2" in text
    assert "Fixed    size, most: export again to change them" in text
    assert "Offset == 0..LastOffset" in text


class Fivefold(Spec):
    """A counter whose end is five times the constant `size`."""

    size: int = 1
    end: Offset

    def scope(s) -> Scope:
        return {Offset: range(6)}

    @action
    def grow(s) -> None:
        when(s.end < 5 * s.size)
        s.end = s.end + 1


def test_a_multiple_that_is_too_large_to_be_read_from_one_number_is_fixed() -> None:
    text = module(Fivefold())
    assert "end < 5" in text
    assert "Fixed    size" in text


def test_a_configuration_lists_constants_and_properties() -> None:
    header, *parts = configuration(Election()).split("\n\n")
    assert "Made by  urteil export Election" in header
    assert parts == [
        "SPECIFICATION Spec\nCHECK_DEADLOCK FALSE",
        "CONSTANTS\n  Replica = {replica_0, replica_1}\n  LastOffset = 1\n  LastEpoch = 1\n"
        "  Nothing = Nothing",
        "INVARIANTS\n  TypeOK\n  LeaderInIsr",
        "PROPERTIES\n  Grows\n  Appended\n  Again\n  Rests",
        "\\* Witnesses: TLC must report each of these as violated.\n\\* INVARIANT NeverNobody",
        "\\* Fewer states, and unsound for liveness properties.\n\\* SYMMETRY Symmetry\n",
    ]
    assert "PROPERTIES" not in configuration(Election(), names=["leader_in_isr"])
    assert "  NeverNobody\n" in configuration(Election(), names=["nobody"])


def test_lemmas_are_listed_apart() -> None:
    made = configuration(find("transactions-abstract").make())
    assert "  \\* lemmas\n  OneDecision\n" in made


@pytest.mark.parametrize("name", SPECS)
def test_the_module_of_every_spec_is_well_formed(name: str) -> None:
    """In the TLA+ module, brackets match, and each action mentions every variable once.

    A variable is either changed or listed in UNCHANGED. Every line has fewer than 100 characters.
    """
    spec = find(name).make()
    text = module(spec)
    for left, right in ("()", "[]", "{}"):
        assert text.count(left) == text.count(right)
    assert max(map(len, text.splitlines())) < 100
    for made in spec.actions:
        head = "".join(word[:1].upper() + word[1:] for word in made.name.split("_"))
        body = re.search(rf"^{head}(\([^)]*\))? ==.*?\n\n", text, re.MULTILINE | re.DOTALL)
        assert body is not None, head
        changed = re.findall(r"/\\ (\w+)' =", body[0])
        kept = re.search(r"UNCHANGED <<(.*?)>>", body[0], re.DOTALL)
        names = [*changed, *(re.findall(r"\w+", kept[1]) if kept else [])]
        assert sorted(names) == sorted(spec.shapes)


class Remembers(Spec):
    """A spec that assigns formulas to a variable. In its TLA+ module, these formulas must be in
    parentheses.
    """

    size: int = 2
    end: Offset
    seen: Bool
    both: Bool

    def scope(s) -> Scope:
        return {Offset: range(s.size + 1)}

    @action
    def grow(s) -> None:
        when(s.end < s.size)
        s.both = s.seen & ~s.both
        s.seen = s.seen | (s.end == 1)
        s.end = s.end + 1

    @invariant
    def nothing_is_seen_at_the_start(s) -> Bool:
        return implies(s.end == 0, ~s.seen)


def test_an_assigned_formula_is_in_parentheses() -> None:
    """In TLA+, `=` binds more tightly than a connective, so `x' = a or b` needs parentheses."""
    text = module(Remembers())
    assert "seen' = (seen \\/ end = 1)" in text
    assert "both' = (seen /\\ ~both)" in text


TINY: list[Spec] = [
    Election(),
    find("replication", "kip-101").make(
        {"replicas": 2, "max_leader_epoch": 1, "log_size": 1, "max_records": 1}
    ),
    find("transactions-abstract").make({"transactions": 1}),
    find("idempotence-abstract").make({"producers": 1, "offsets": 3}),
    Remembers(),
]


@pytest.mark.parametrize("spec", TINY, ids=lambda s: type(s).__name__)
def test_an_independent_reader_of_tla_finds_the_same_states(spec: Spec) -> None:
    """The tests' own interpreter of TLA+ reads the export, and finds the states of the spec."""
    found, read = explore(spec), Module(module(spec), configuration(spec))
    states, generated = read.explored()
    assert (len(states), generated) == (found.distinct, found.generated)
    for claim in spec.claims:
        if claim.name in found.discoveries:
            formula = read.formula("".join(w[:1].upper() + w[1:] for w in claim.name.split("_")))
            holds = all(formula({**read.env, **state}) for state in states)
            assert holds == (found.discoveries[claim.name].verdict == "holds")


def test_a_module_does_not_depend_on_the_hash_seed() -> None:
    """LET defines several terms of equal size. They are in the order in which the action has
    them.
    """
    texts = {
        subprocess.run(
            [sys.executable, "-c", PRINTS_ELECTION],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2", "3")
    }
    assert len(texts) == 1


PRINTS_ELECTION = """
from model.language.tla import module
from model.specs import find
print(module(find("election", "kafka-4.1").make()))
"""
