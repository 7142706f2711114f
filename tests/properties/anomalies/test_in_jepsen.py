"""With `--jepsen`, anomalies have the names and the conditions of jepsen.tests.kafka.

Some anomalies are checked only with an option such as `--ww-deps`. To ask for such an anomaly
without its option is an error, and the message names the option.
"""

from __future__ import annotations

import re

import pytest

from model.faults import UnknownName
from model.history_notation import history
from properties.anomalies.catalogue import CATALOGUE, EVERY, NotLookedFor, catalogue, named
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.anomalies.in_jepsen import JEPSEN_ANOMALIES, NOT_IN_JEPSEN

JEPSEN = Declarations(jepsen=True, ww_deps=True, rw_deps=True)
ALWAYS_ALLOWED = {"int-send-skip", "G0", "G0-realtime", "PL-1-cycle-exists"}
ALLOWED_WITH_WW_DEPS = {"G1c", "G1c-realtime", "PL-2-cycle-exists", "strong-PL-2-cycle-exists"}


def permitted(declared: Declarations) -> set[str]:
    conditions = declared.conditions()
    rows = catalogue(declared)
    return {row.id for row in rows if conditions.intersection(row.permits)}


def test_an_anomaly_that_jepsen_lacks_is_permitted() -> None:
    others = {row.id for row in catalogue(JEPSEN) if NOT_IN_JEPSEN in row.permits.values()}
    assert others == {row.id for row in CATALOGUE} - JEPSEN_ANOMALIES
    assert {"torn-transaction", "offset-order-inversion", "G-single"} <= others


@pytest.mark.parametrize(
    ("declared", "allowed"),
    [
        (Declarations(jepsen=True), set[str]()),
        (Declarations(jepsen=True, ww_deps=True), ALLOWED_WITH_WW_DEPS),
        (
            Declarations(jepsen=True, sub_via=frozenset({"subscribe"})),
            {"poll-skip", "nonmonotonic-poll"},
        ),
    ],
)
def test_jepsens_flags_permit_the_same_anomalies_here(
    declared: Declarations, allowed: set[str]
) -> None:
    of_its_own = permitted(declared) - ({row.id for row in CATALOGUE} - JEPSEN_ANOMALIES)
    assert of_its_own == ALWAYS_ALLOWED | {"strong-PL-1-cycle-exists"} | allowed


def test_cycles_have_jepsens_names() -> None:
    there = {row.id for row in catalogue(JEPSEN)}
    assert not there & {"G0-process", "G1c-process"}
    assert {"PL-1-cycle-exists", "strong-PL-2-cycle-exists"} <= there
    assert {row.id for row in EVERY} == there | {row.id for row in CATALOGUE}


def test_a_process_cycle_is_a_realtime_cycle_in_jepsen() -> None:
    h = history("""
        c1  poll      -> ok k=a@0
        c1  send k=a  -> ok @0
    """)
    (ours,) = named(("G1c-process",))
    rows = {name: named((name,), JEPSEN)[0].find(h) for name in ("G1c", "G1c-realtime")}
    assert rows == {"G1c": (), "G1c-realtime": ours.find(h)}
    assert ours.find(h)


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("G0", "--ww-deps"),
        ("G-single", "--rw-deps"),
        ("PL-2-cycle-exists", "--jepsen"),
        ("empty-transaction-graph", "--jepsen"),
    ],
)
def test_an_anomaly_that_needs_an_option_names_the_option(name: str, option: str) -> None:
    says = f"--anomaly {name} is only checked with {option}; add that option"
    with pytest.raises(NotLookedFor, match=re.escape(says)):
        named((name,), NOTHING_DECLARED)
    assert [row.id for row in named((name,), JEPSEN)] == [name]


def test_a_name_that_jepsen_lacks_is_unknown() -> None:
    with pytest.raises(UnknownName, match="no anomaly 'G1c-process'"):
        named(("G1c-process",), JEPSEN)
