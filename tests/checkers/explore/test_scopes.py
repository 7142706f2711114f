"""If a type has very many values, actions are tried only with values near those of the state."""

from __future__ import annotations

from checkers.explore.paths import walked
from checkers.explore.scopes import WIDE, near, scope_ranges
from checkers.explore.walks import Walk
from model.specs import find

VARIANT = find("replication-abstract")
WRITTEN = "append(b0, m0, end 1); append(b0, m1, end 2)"


def walk_of(scope: str) -> Walk:
    return Walk.of(VARIANT, VARIANT.make(), scope)


def test_a_scope_replaces_the_sizes_that_it_names() -> None:
    ranges = scope_ranges(VARIANT.make(), f"Offset=185,Message={2**63}")
    assert (ranges["Offset"], ranges["Replica"]) == (range(185), range(2))
    assert ranges["Message"].stop == 2**63


def test_the_values_of_a_wide_sort_are_those_of_the_state_and_their_neighbours() -> None:
    walk = walk_of(f"Offset={WIDE + 8},Message={2**63}")
    state = walked(walk, WRITTEN).state
    sorts = {p.sort.name: p.sort for action in walk.spec.actions for p in action.params}
    ranges = walk.interpreter.ranges
    assert near(state, sorts["Offset"], walk.spec, ranges) == [0, 1, 2, 3]  # the log ends at 2
    assert near(state, sorts["Message"], walk.spec, ranges) == [0, 2]
    assert walk.wide == ("Offset", "Message")


def test_an_option_of_a_wide_sort_is_what_it_is_in_a_small_scope() -> None:
    small, wide = walk_of("Offset=4,Message=3"), walk_of(f"Offset={WIDE + 8},Message=3")
    state = walked(small, WRITTEN).state
    expected = {o.call.text: (o.kind, str(o.guard)) for o in small.options(state)}
    found = {o.call.text: (o.kind, str(o.guard)) for o in wide.options(walked(wide, WRITTEN).state)}
    assert found == expected
    assert {kind for kind, _ in found.values()} == {"enabled", "disabled"}
