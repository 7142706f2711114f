"""A user may declare that an anomaly is permitted, or which isolation level readers have."""

from __future__ import annotations

from model.history_notation import history
from properties.anomalies.declarations import (
    ALWAYS,
    NOTHING_DECLARED,
    READ_UNCOMMITTED,
    SUBSCRIBE,
    UNFINISHED,
    WW_DEPS,
    Declarations,
)


def test_without_declarations_only_the_constant_condition_holds() -> None:
    assert NOTHING_DECLARED.conditions() == {ALWAYS}


def test_each_declaration_is_a_condition() -> None:
    assert Declarations(sub_via=frozenset({"assign", "subscribe"})).conditions() == {
        ALWAYS,
        SUBSCRIBE,
    }
    assert Declarations(ww_deps=True).conditions() == {ALWAYS, WW_DEPS}
    assert Declarations(isolation="read_uncommitted").conditions() == {ALWAYS, READ_UNCOMMITTED}
    assert Declarations(finished=False).conditions() == {ALWAYS, UNFINISHED}


def test_only_operations_without_an_isolation_level_get_the_declared_one() -> None:
    h = history("""
        c1  poll                            -> ok
        c2  poll{isolation=read_committed}  -> ok
    """)
    assert [o.isolation for o in NOTHING_DECLARED.applied(h)] == [
        "read_committed",
        "read_committed",
    ]
    declared = Declarations(isolation="read_uncommitted")
    assert [o.isolation for o in declared.applied(h)] == ["read_uncommitted", "read_committed"]


def test_a_compacted_topic_includes_all_its_partitions() -> None:
    declared = Declarations(compacted=frozenset({"orders", "k"}))
    assert declared.compacts("orders-0")
    assert declared.compacts("orders-17")
    assert declared.compacts("k")
    assert not declared.compacts("orders-by-day-0")
    assert not NOTHING_DECLARED.compacts("orders-0")
