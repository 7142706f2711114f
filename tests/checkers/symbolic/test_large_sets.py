"""Proofs assume that a large set stays large when an element joins. The tests check this for all
sets of few elements.
"""

from __future__ import annotations

import pytest

from checkers.symbolic import prove
from checkers.symbolic.large_sets import UP_TO, large_sets, not_growing, not_ordered
from model.language import (
    Bool,
    Ordered,
    Scope,
    Set,
    Sort,
    Spec,
    SpecError,
    action,
    at_least,
    exists,
    implies,
    invariant,
    least_of,
    lemma,
    true,
    when,
)


class Copy(Sort):
    """A copy of a record."""


class Copies(Spec):
    """A record is kept while the number of lost copies is smaller than the number of copies at the
    commit.
    """

    copies: Set[Copy]
    lost: Set[Copy]
    committed: Bool

    def scope(s) -> Scope:
        return {Copy: 3}

    @action
    def copy(s, c: Copy) -> None:
        s.copies[c] = True

    @action
    def commit(s) -> None:
        when(s.is_enough(s.copies))
        s.committed = true

    @action
    def lose(s, c: Copy) -> None:
        s.lost[c] = True

    def is_enough(s, copies: Set[Copy]) -> Bool:
        return at_least(2, (copies[c] for c in Copy))

    @invariant
    def a_copy_remains(s) -> Bool:
        """If fewer than two copies are lost, a committed record has a copy that is not lost."""
        return implies(
            s.committed & ~at_least(2, (s.lost[c] for c in Copy)),
            exists(s.copies[c] & ~s.lost[c] for c in Copy),
        )

    @lemma
    def a_committed_record_has_copies(s) -> Bool:
        return implies(s.committed, at_least(2, (s.copies[c] for c in Copy)))


class OneCopyIsEnough(Copies):
    def is_enough(s, copies: Set[Copy]) -> Bool:
        return exists(copies[c] for c in Copy)


class Number(Ordered):
    """A number of copies."""


class ChangedNumber(Spec):
    """Records are committed with any number of copies, of which the lowest is remembered."""

    copies: Set[Copy]
    committed: Bool
    needed: Number
    lowest: Number

    def scope(s) -> Scope:
        return {Copy: 3, Number: range(1, 4)}

    def init(s, needed: Number) -> None:
        s.needed = needed
        s.lowest = needed

    @action
    def copy(s, c: Copy) -> None:
        s.copies[c] = True

    @action
    def change(s, needed: Number) -> None:
        s.needed = needed
        s.lowest = s.remembered(needed)

    def remembered(s, needed: Number) -> Number:
        return least_of(s.lowest, needed)

    @action
    def commit(s) -> None:
        when(at_least(s.needed, (s.copies[c] for c in Copy)))
        s.committed = true

    @invariant
    def a_committed_record_has_the_lowest_number(s) -> Bool:
        return implies(s.committed, at_least(s.lowest, (s.copies[c] for c in Copy)))

    @lemma
    def the_lowest_is_at_most_the_present(s) -> Bool:
        return s.lowest <= s.needed


class RemembersTheLast(ChangedNumber):
    def remembered(s, needed: Number) -> Number:
        return needed


@pytest.mark.parametrize("size", range(1, UP_TO + 1))
def test_large_sets_stay_large_as_they_grow(size: int) -> None:
    for number in range(size + 2):
        assert not not_growing(size, list(large_sets(size, number)))


def test_sets_of_one_size_do_not_stay_in_their_family() -> None:
    assert not_growing(2, [frozenset({0})]) == [(frozenset({0}), 1)]


def test_fewer_losses_than_copies_are_proved_with_the_assumption() -> None:
    proof = prove(Copies())
    assert (proof.holds, proof.reason) == (True, "")
    assert [one.split(" (")[0] for one in proof.assumptions] == [
        "a set with at least 2 elements of Copy stays so when elements join"
    ]


def test_one_copy_is_not_enough() -> None:
    proof = prove(OneCopyIsEnough())
    assert {(c.action, c.verdict) for c in proof.failed} == {("commit", "refuted")}


def test_different_numbers_are_not_compared() -> None:
    class OfThree(Copies):
        def is_enough(s, copies: Set[Copy]) -> Bool:
            return at_least(3, (copies[c] for c in Copy))

    proof = prove(OfThree(), limit_ms=2_000)
    assert {c.action for c in proof.failed} == {"commit"}
    assert len(proof.assumptions) == 2


def test_a_large_part_of_a_set_is_refused() -> None:
    class OfASet(Copies):
        def is_enough(s, copies: Set[Copy]) -> Bool:
            return at_least(2, (s.lost[c] for c in copies))

    with pytest.raises(SpecError, match="ranges over a set"):
        prove(OfASet())


@pytest.mark.parametrize(("spec", "number"), [(Copies(), "2"), (ChangedNumber(), "needed")])
def test_a_large_set_is_a_count_in_an_exploration(spec: Spec, number: str) -> None:
    (commit,) = (one for one in spec.actions if one.name == "commit")
    assert [str(guard) for guard in commit.guards] == [
        f"{number} <= count(copies[c] for c in Copy)"
    ]


@pytest.mark.parametrize("size", range(1, UP_TO + 1))
def test_a_large_set_is_large_by_each_smaller_number(size: int) -> None:
    assert not not_ordered({number: list(large_sets(size, number)) for number in range(size + 2)})


def test_sets_of_exactly_a_number_are_not_ordered() -> None:
    exactly = {0: [frozenset[int]()], 1: [frozenset({0})]}
    assert not_ordered(exactly) == [(0, 1, frozenset({0}))]


def test_a_changed_number_is_proved_with_both_assumptions() -> None:
    proof = prove(ChangedNumber())
    assert (proof.holds, proof.reason) == (True, "")
    assert [one.split(" (")[0] for one in proof.assumptions] == [
        "a set with at least k elements of Copy stays so when elements join",
        "a set with at least k elements of Copy has at least j elements, if j <= k are of Number",
    ]


def test_a_raised_number_is_not_that_of_an_earlier_commit() -> None:
    proof = prove(RemembersTheLast(), limit_ms=2_000)
    assert {(c.action, c.claim) for c in proof.failed} == {
        ("change", "a_committed_record_has_the_lowest_number")
    }


def test_a_number_without_an_order_is_refused() -> None:
    class OfACopy(Copies):
        chosen: Copy

        def is_enough(s, copies: Set[Copy]) -> Bool:
            return at_least(s.chosen, (copies[c] for c in Copy))  # type: ignore[arg-type]

    with pytest.raises(SpecError, match=r"a number of the sort Copy, which has no order"):
        prove(OfACopy())
