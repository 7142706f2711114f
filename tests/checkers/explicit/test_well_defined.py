"""An undefined term is reported with its action, line and conjunct; the search does not crash."""

from __future__ import annotations

from checkers.explicit.exploration import IllDefined
from checkers.explicit.search import explore
from model.language import Bool, Int, Map, Scope, Spec, action, all_of, invariant, when


class Offset(Int):
    pass


class Log(Spec):
    end: Offset
    record: Map[Offset, Offset]

    def scope(s) -> Scope:
        return {Offset: range(3)}

    @action
    def append(s) -> None:
        when(s.end < 2)
        s.end = s.end + 1

    @invariant
    def small(s) -> Bool:
        return s.end <= 2


def finding(spec: Spec) -> IllDefined:
    found = explore(spec)
    assert found.ill_defined is not None
    assert found.why_stopped == "ill-defined"
    assert found.discoveries["small"].verdict == "undecided"
    assert found.discoveries["small"].reason == "the spec is ill-defined"
    return found.ill_defined


def test_an_undefined_read_before_its_guarding_conjunct_is_reported() -> None:
    class Backwards(Log):
        @action
        def cut(s, at: Offset) -> None:
            when(s.record[s.end - 1] <= at, s.end != 0)
            s.end = at

    fault = finding(Backwards())
    assert fault.where.startswith("cut(at 0), line ")
    assert fault.where.endswith("when record[end - 1] <= at")
    assert fault.what == "end - 1 is -1, outside of Offset, which is 0..2"
    assert [step.action for step in fault.trace] == ["init"]


def test_the_same_conjuncts_in_the_right_order_are_well_defined() -> None:
    class Forwards(Log):
        @action
        def cut(s, at: Offset) -> None:
            when(s.end != 0, s.record[s.end - 1] <= at)
            s.end = at

    found = explore(Forwards())
    assert found.exhausted
    assert found.ill_defined is None


def test_an_assignment_outside_its_sort_is_reported() -> None:
    class Unbounded(Log):
        @action
        def push(s) -> None:
            when(s.end <= 2)
            s.end = s.end + 1

    fault = finding(Unbounded())
    assert fault.where.startswith("push(), line ")
    assert fault.where.endswith("end = end + 1")
    assert fault.what == "end + 1 is 3, outside of Offset, which is 0..2"
    assert [step.action for step in fault.trace] == ["init", "append", "append"]


def test_a_conjunct_that_is_never_true_hides_nothing_before_it() -> None:
    class Never(Log):
        @action
        def cut(s) -> None:
            when(s.record[s.end - 1] == 0, Offset(0) == Offset(1))
            s.end = Offset(0)

    assert finding(Never()).what == "end - 1 is -1, outside of Offset, which is 0..2"


def test_an_undefined_claim_is_reported() -> None:
    class Claiming(Log):
        @invariant
        def latest(s) -> Bool:
            return all_of(s.record[s.end - 1] == 0)

    assert finding(Claiming()).where == "latest"


def test_an_undefined_initial_state_is_reported() -> None:
    class Starting(Log):
        def init(s) -> None:
            s.end = Offset(7)

    fault = finding(Starting())
    assert fault.where.startswith("init(), line ")
    assert fault.what == "7 is outside of Offset, which is 0..2"
