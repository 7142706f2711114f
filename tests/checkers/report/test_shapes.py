"""Two recordings of one bug have equal fingerprints; another bug has a different fingerprint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import pytest

from checkers.events import AnomalyDecided, Evidence, PropertyDecided, RowShown
from checkers.histories.analysis import Analysis, analyze
from checkers.histories.io.operation_rows import as_table
from checkers.report.rows_shown import rows_shown
from checkers.report.shapes import Fingerprints, shape_of_row, shape_of_text
from checkers.sweeping import Swept
from model.history_notation import history
from reference_impl.node.bugs import bugs_named
from reference_impl.simulation.runs import run

if TYPE_CHECKING:
    from properties.anomalies.anomaly import Row

LOST = """
    p1 send a=x -> ok @0
    p1 send a=y -> ok @1
    p2 poll -> ok a=y@1
"""
LOST_ELSEWHERE = """
    c7 poll -> ok orders=v0@39
    p3 send orders=v1 -> ok @40
    p3 send orders=v2 -> ok @41
    p4 send orders=v3 -> ok @42
    p9 poll -> ok orders=v3@42
"""
LOST_IN_A_TRANSACTION = """
    t1 txn{id=x} a=x -> ok @0
    p1 send a=y -> ok @2
    p2 poll -> ok a=y@2
"""


def fingerprints(found: Analysis) -> Mapping[str, Mapping[str, str]]:
    """Returns, for each violated anomaly, its fingerprints with the text that is hashed."""
    stage = Fingerprints()
    kept: dict[str, Mapping[str, str]] = {}
    for decision in found.decisions:
        for row in rows_shown(found, decision, "history"):
            stage(row)
        event = stage(
            AnomalyDecided(
                anomaly=decision.anomaly.id,
                verdict=decision.verdict,
                count=decision.count,
                permitted=decision.permitted,
                history="history",
            )
        )
        assert isinstance(event, AnomalyDecided)
        if event.fingerprints:
            kept[event.anomaly] = event.fingerprints
    return kept


def of(notation: str, anomaly: str) -> Mapping[str, str]:
    return fingerprints(analyze(as_table(history(notation)), anomalies=(anomaly,)))[anomaly]


@cache
def simulated(bug: str, seed: int) -> Mapping[str, Mapping[str, str]]:
    swept = Swept(sweep="publish", bugs=bugs_named(bug))
    return fingerprints(analyze(as_table(run(swept.scenario(seed)).history)))


def decided(stage: Fingerprints, **named: Any) -> Mapping[str, str]:
    fields = {"property": "weak_isr", "verdict": "violated", "engine": "explicit", **named}
    event = stage(PropertyDecided(**fields))
    assert isinstance(event, PropertyDecided)
    return event.fingerprints


def test_topics_offsets_values_and_counts_are_not_in_the_fingerprint() -> None:
    assert of(LOST, "lost-write") == of(LOST_ELSEWHERE, "lost-write")
    assert [*of(LOST, "lost-write").values()] == ["writer: send ok; reader: poll ok"]


def test_another_kind_of_write_is_another_shape() -> None:
    assert of(LOST, "lost-write").keys().isdisjoint(of(LOST_IN_A_TRANSACTION, "lost-write"))


@pytest.mark.parametrize(("bug", "seeds"), [("no-dedup", (0, 1)), ("lost-append", (0, 2))])
def test_two_recordings_of_one_bug_share_their_fingerprints(
    bug: str, seeds: tuple[int, int]
) -> None:
    first, second = (simulated(bug, seed) for seed in seeds)
    assert first
    assert first == second


def test_another_bug_has_other_fingerprints() -> None:
    one, other = simulated("no-dedup", 0), simulated("lost-append", 0)
    assert one.keys().isdisjoint(other)
    assert {key for each in one.values() for key in each}.isdisjoint(
        key for each in other.values() for key in each
    )


def test_a_cycle_has_the_kinds_of_its_edges_from_the_smallest_rotation() -> None:
    @dataclass
    class Cycle:
        kinds: tuple[str, ...]

    shapes = {shape_of_row(cast("Row", Cycle(kinds)), {}) for kinds in ROTATIONS}
    assert shapes == {"cycle: rw, wr, ww"}


def test_a_property_is_distinguished_by_spec_variant_and_breaking_action() -> None:
    def of_property(action: str, **fields: str) -> tuple[str, ...]:
        stage = Fingerprints()
        stage(Evidence(about="weak_isr", text="", shape=f"after {action}"))
        return tuple(decided(stage, **fields))

    kip = of_property("become_follower", spec="replication", variant="kip-101")
    assert kip == of_property("become_follower", spec="replication", variant="kip-101")
    others = {
        of_property("leader_write", spec="replication", variant="kip-101"),
        of_property("become_follower", spec="replication", variant="kip-279"),
        of_property("become_follower", spec="election", variant="kip-101"),
    }
    assert len({kip, *others}) == 4
    assert of_property("a", spec="/home/me/mine.py") == of_property("a", spec="mine.py")


def test_the_system_of_a_trial_is_not_in_the_fingerprint() -> None:
    def on(system: str) -> Mapping[str, str]:
        stage = Fingerprints()
        variant = f"acks-all, {system}"
        return decided(stage, spec="log", variant=variant, system=system, reason="v1 is lost")

    assert on("apache-kafka:4.3.0") == on("apache-kafka:4.4.0") == on("10.0.0.7:9092")
    assert [*on("served").values()] == ["# is lost"]


def test_evidence_of_an_earlier_property_does_not_count_for_the_next() -> None:
    stage = Fingerprints()
    stage(Evidence(about="weak_isr", text="", shape="after a"))
    decided(stage)
    assert [*decided(stage).values()] == ["no evidence"]


def test_only_violations_have_fingerprints() -> None:
    assert decided(Fingerprints(), verdict="holds") == {}


def test_a_row_without_a_shape_takes_its_text_without_names_and_numbers() -> None:
    row = Fingerprints()(
        RowShown(anomaly="crc", history="h", number=1, text="t-0 at 17: crc 0x1f is wrong\nmore")
    )
    assert isinstance(row, RowShown)
    assert row.shape == "# at # crc # is wrong"
    assert shape_of_text("log 'orders' lacks 5 records") == "log # lacks # records"


ROTATIONS = (("wr", "ww", "rw"), ("ww", "rw", "wr"), ("rw", "wr", "ww"))
