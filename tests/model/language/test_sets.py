"""The union and the difference of two state variables that are sets."""

from __future__ import annotations

from checkers.explicit.search import explore
from model.language import (
    Bool,
    Scope,
    Set,
    Sort,
    Spec,
    action,
    forall,
    iff,
    implies,
    invariant,
    witness,
)


class Node(Sort):
    pass


class TwoSets(Spec):
    """Two sets that get elements in any order; a third set gets the elements of their union."""

    left: Set[Node]
    right: Set[Node]
    visited: Set[Node]

    def scope(s) -> Scope:
        return {Node: 2}

    @action
    def add_left(s, n: Node) -> None:
        s.left[n] = True

    @action
    def add_right(s, n: Node) -> None:
        s.right[n] = True

    @action
    def remove_right_from_left(s) -> None:
        s.left = s.left - s.right

    @action
    def visit(s) -> None:
        for n in s.left | s.right:
            s.visited[n] = True

    @invariant
    def the_union_has_the_elements_of_both(s) -> Bool:
        return forall(iff((s.left | s.right)[n], s.left[n] | s.right[n]) for n in Node)

    @invariant
    def the_difference_has_those_of_the_first_alone(s) -> Bool:
        return forall(iff((s.left - s.right)[n], s.left[n] & ~s.right[n]) for n in Node)

    @invariant
    def only_elements_are_visited(s) -> Bool:
        return forall(implies(s.visited[n], s.left[n] | s.right[n]) for n in Node)

    @invariant
    def the_difference_is_the_first_set(s) -> Bool:
        return forall(iff((s.left - s.right)[n], s.left[n]) for n in Node)

    @witness
    def all_are_visited(s) -> Bool:
        return forall(s.visited[n] for n in Node)


def test_two_sets_are_joined_and_subtracted_element_by_element() -> None:
    found = explore(TwoSets())
    assert found.violated == ("the_difference_is_the_first_set",)
    assert found.witnesses["all_are_visited"].states
