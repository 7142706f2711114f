"""Invalid specs are refused; each error names the line and what to write instead."""

from __future__ import annotations

import gc
import sys
from typing import Annotated, Any

import pytest

from model.faults import InputFault
from model.language import (
    Bool,
    Int,
    Map,
    Ordered,
    Record,
    Set,
    Sort,
    Spec,
    SpecError,
    action,
    all_of,
    forall,
    invariant,
    when,
)


class Broker(Sort):
    pass


class Offset(Int):
    pass


class Epoch(Ordered):
    pass


class Log(Record):
    end: Offset
    known: Set[Offset]

    def append(self) -> None:
        self.end = self.end + 1


class Short(Record):
    end: Offset

    @property
    def last(self) -> Offset:
        return self.missing.end  # type: ignore[attr-defined,no-any-return] # the mistake


class Base(Spec):
    brokers: Annotated[int, range(1, 10)] = 3
    fast: bool = False

    log: Map[Broker, Log]
    isr: Set[Broker]
    alive: Set[Broker]
    epoch: Epoch


def refused(cls: type[Spec]) -> str:
    spec = cls()
    with pytest.raises(SpecError) as caught:
        _ = (spec.initial, spec.actions, spec.claims)
    return str(caught.value)


def test_a_view_read_after_an_assignment_is_refused() -> None:
    class Stale(Base):
        @action
        def append(s, b: Broker) -> None:
            log = s.log[b]
            log.append()
            s.log[b].end = log.end

    assert "reads log.end after assigning it" in refused(Stale)
    assert "a record or a map is a view" in refused(Stale)


def test_a_derived_set_read_after_an_assignment_is_refused() -> None:
    class Stale(Base):
        @action
        def shrink(s, b: Broker) -> None:
            smaller = s.isr - {b}
            s.isr = smaller
            s.alive = smaller

    assert "reads isr after assigning it" in refused(Stale)


def test_a_mistake_in_a_quantifier_leaves_no_second_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The quantifier's generator ends after the error, and must not raise another one."""

    class Stale(Base):
        @action
        def join(s, b: Broker) -> None:
            s.isr[b] = s.alive[b]
            s.alive[b] = forall(s.isr[x] for x in Broker)

    ignored: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    assert "reads isr after assigning it" in refused(Stale)
    gc.collect()
    assert not ignored


def test_a_value_read_before_the_assignment_keeps_its_meaning() -> None:
    class Fine(Base):
        @action
        def append(s, b: Broker) -> None:
            end = s.log[b].end
            s.log[b].append()
            s.log[b].known[end] = True

    assert [w.variable.name for w in Fine().actions[0].writes] == ["log.end", "log.known"]


def test_a_misspelled_field_lists_the_nearest_names() -> None:
    class Misspelled(Base):
        @invariant
        def claim(s) -> Bool:
            return s.log_[Broker].end == 0  # type: ignore[attr-defined,no-any-return] # the mistake

    assert "Misspelled has no variable 'log_'; the nearest: log" in refused(Misspelled)


def test_an_error_inside_a_property_names_the_property() -> None:
    class Failing(Base):
        short: Short

        @property
        def everyone(s) -> Bool:
            return object().nothing_of_the_kind  # type: ignore[attr-defined,no-any-return]

        @invariant
        def claim(s) -> Bool:
            return s.everyone

    class FailingRecord(Failing):
        @invariant
        def claim(s) -> Bool:
            return s.short.last == 0

    assert "Failing.everyone: 'object' object has no attribute" in refused(Failing)
    assert "Short has no field 'missing'; the nearest: end" in refused(FailingRecord)


def test_an_unparenthesized_and_beside_offsets_is_refused() -> None:
    class Tight(Base):
        @invariant
        def claim(s) -> Bool:
            return forall(s.log[b].end == s.log[b].end & s.isr[b] for b in Broker)  # type: ignore[operator]

    assert "bind tighter than" in refused(Tight)


def test_an_unparenthesized_and_beside_formulas_is_refused() -> None:
    """`a == b & c` without parentheses is refused, because Python reads it as `a == (b & c)`.

    If `a`, `b` and `c` are formulas, both readings have correct types. So the types cannot show the
    mistake, and the check reads the source text.
    """

    class Trap(Base):
        @invariant
        def claim(s) -> Bool:
            return forall(s.isr[b] == s.alive[b] & s.isr[b] for b in Broker)

    assert "Trap, line " in refused(Trap)
    assert "s.isr[b] == s.alive[b] & s.isr[b]" in refused(Trap)


def test_parentheses_make_and_beside_a_comparison_valid() -> None:
    class Meant(Base):
        @invariant
        def claim(s) -> Bool:
            return forall((s.isr[b] == (s.alive[b] & s.isr[b])) | s.isr[b] for b in Broker)

    assert len(Meant().claims) == 1


@pytest.mark.parametrize(
    ("written", "taught"),
    [
        (lambda s, b: when(s.isr[b] and s.alive[b]), "instead of and, or, not, if"),
        (lambda s, b: when(s.log[b].end), "a term of Offset is not a formula"),
        (lambda s, b: when(0 < s.log[b].end < 2), "instead of a < b < c"),
        (lambda s, b: when(forall(iter([]))), "a quantifier ranges over an empty iterable"),
        (lambda s, b: when(s.log[s.epoch].end == 0), "indexed by Broker, not by Epoch"),
        (lambda s, b: when(s.log[b] == 3), "a Log is compared with 3"),
        (
            lambda s, b: setattr(s, "epoch", b),
            "a term of Epoch is compared with or assigned to a term of Broker",
        ),
        (lambda s, b: setattr(s.log[b], "begin", 1), "Log has no field 'begin'; the nearest: end"),
    ],
)
def test_a_statement_without_a_meaning_is_refused(written: Any, taught: str) -> None:
    class Wrong(Base):
        @action
        def step(s, b: Broker) -> None:
            written(s, b)

    assert taught in refused(Wrong)


def test_a_loop_that_assigns_one_cell_many_times_is_refused() -> None:
    class Loop(Base):
        @action
        def step(s) -> None:
            for b in Broker:
                s.epoch = Epoch.least()
                s.isr[b] = True

    assert "every Broker would assign it at once" in refused(Loop)


def test_a_predicate_that_assigns_is_refused() -> None:
    class Assigning(Base):
        @invariant
        def claim(s) -> Bool:
            s.epoch = Epoch.least()
            return all_of()

    assert "a predicate assigns epoch" in refused(Assigning)


@pytest.mark.parametrize(
    ("constants", "error"),
    [
        ({"broker": 3}, "Base has no constant 'broker'; the nearest: brokers, fast"),
        ({"brokers": 10}, "brokers is an integer from 1 to 9, not 10"),
        ({"brokers": True}, "brokers is an integer from 1 to 9, not True"),
        ({"fast": 1}, "fast is true or false, not 1"),
    ],
)
def test_constants_are_checked_by_name_type_and_range(
    constants: dict[str, Any], error: str
) -> None:
    with pytest.raises(InputFault) as caught:
        Base(**constants)
    assert error in str(caught.value)


def test_a_constant_without_a_default_is_refused_with_the_class() -> None:
    with pytest.raises(SpecError, match="the constant size has no default"):

        class NoDefault(Spec):
            size: int
