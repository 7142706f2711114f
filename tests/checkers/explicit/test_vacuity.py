"""The vacuity check lists the parts of a spec that have no effect in any reachable state.

Such a part is an action that is never taken, or a witness that no state satisfies. It may also be a
claim `P => Q` whose P is never true, or a claim about the members of a set that is always empty.
"""

from __future__ import annotations

import pytest

from checkers.explicit.exploration import Budget, EngineName
from checkers.explicit.liveness import with_liveness
from checkers.explicit.search import explore
from checkers.explicit.vacuity import vacuous
from model.language import (
    Bool,
    Int,
    Map,
    Scope,
    Set,
    Sort,
    Spec,
    Temporal,
    action,
    forall,
    implies,
    invariant,
    leads_to,
    liveness,
    when,
    witness,
)


class Replica(Sort):
    pass


class Offset(Int):
    pass


class Log(Spec):
    end: Map[Replica, Offset]
    isr: Set[Replica]

    def scope(s) -> Scope:
        return {Replica: 2, Offset: range(3)}

    @action
    def append(s, r: Replica) -> None:
        when(s.end[r] < 2)
        s.end[r] = s.end[r] + 1

    @invariant
    def ends_are_small(s) -> Bool:
        return forall(implies(s.end[r] == 2, Offset(1) <= s.end[r]) for r in Replica)

    @witness
    def full(s) -> Bool:
        return forall(s.end[r] == 2 for r in Replica)


class Empty(Log):
    @action
    def truncate(s, r: Replica) -> None:
        when(s.end[r] == 2, ~s.isr[r], s.isr[r])
        s.end[r] = Offset(0)

    @invariant
    def members_are_full(s) -> Bool:
        return forall(s.end[r] == 2 for r in s.isr)

    @invariant
    def beyond(s) -> Bool:
        return forall(
            implies(s.end[r] == 2, implies(s.end[x] > 2, s.isr[r]))
            for r in Replica
            for x in Replica
        )

    @liveness
    def who_joins_leaves(s, r: Replica) -> Temporal:
        return leads_to(s.isr[r], ~s.isr[r])

    @liveness
    def who_is_full_stays(s, r: Replica) -> Temporal:
        return leads_to(s.end[r] == 2, s.end[r] == 2)

    @witness
    def someone_joins(s) -> Bool:
        return ~forall(~s.isr[r] for r in Replica)


@pytest.mark.parametrize("engine", ["numpy", "python"])
def test_each_vacuous_part_is_named_once_with_its_false_formula(engine: EngineName) -> None:
    spec = Empty()
    found = with_liveness(spec, explore(spec), [c.name for c in spec.liveness_properties])
    line = spec.actions[1].guards[2].line
    assert list(map(str, vacuous(spec, found, engine))) == [
        f"truncate: never taken: line {line} is never true where the conjuncts before it are:"
        " isr[r]",
        "members_are_full: vacuous: this is never true: isr[r]",
        "beyond: vacuous: this is never true: 2 < end[x]",
        "who_joins_leaves: vacuous: this is never true: isr[r]",
        "someone_joins: no reachable state satisfies this witness",
    ]


def test_exercised_parts_are_not_named() -> None:
    assert vacuous(Log(), explore(Log())) == []


def test_an_incomplete_exploration_reports_no_vacuity() -> None:
    spec = Empty()
    assert vacuous(spec, explore(spec, engine="python", budget=Budget(states=1))) == []
