"""What is declared becomes conditions, and fills in what operations do not say."""

from __future__ import annotations

from model.history_notation import history
from properties.anomalies.declared import (
    ALWAYS,
    NOTHING,
    READ_UNCOMMITTED,
    SUBSCRIBE,
    UNFINISHED,
    WW_DEPS,
    Declared,
)


def test_of_nothing_declared_only_what_is_always_true_holds() -> None:
    assert NOTHING.conditions() == {ALWAYS}


def test_each_declaration_is_a_condition() -> None:
    assert Declared(sub_via=frozenset({"assign", "subscribe"})).conditions() == {ALWAYS, SUBSCRIBE}
    assert Declared(ww_deps=True).conditions() == {ALWAYS, WW_DEPS}
    assert Declared(isolation="read_uncommitted").conditions() == {ALWAYS, READ_UNCOMMITTED}
    assert Declared(finished=False).conditions() == {ALWAYS, UNFINISHED}


def test_only_operations_that_do_not_say_their_isolation_get_the_declared_one() -> None:
    h = history("""
        c1  poll                            -> ok
        c2  poll{isolation=read_committed}  -> ok
    """)
    assert [o.isolation for o in NOTHING.applied(h)] == ["read_committed", "read_committed"]
    declared = Declared(isolation="read_uncommitted")
    assert [o.isolation for o in declared.applied(h)] == ["read_uncommitted", "read_committed"]


def test_a_compacted_topic_has_all_its_partitions() -> None:
    declared = Declared(compacted=frozenset({"orders", "k"}))
    assert declared.compacts("orders-0")
    assert declared.compacts("orders-17")
    assert declared.compacts("k")
    assert not declared.compacts("orders-by-day-0")
    assert not NOTHING.compacts("orders-0")
