"""The picture of a state is derived from the types of the state variables, for every spec."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.explore.logs import logs_of
from checkers.explore.pictures import Painter
from model.specs import SPECS
from tests.checkers.explore.explorers import explorer_of, walk_of

Ask = Any
WRITTEN = (
    "controller_elect_leader(b0); become_leader(b0, leader_epoch 0); leader_write(b0); "
    "become_follower(b1, b0, leader_epoch 0); follower_replicate(b1, b0); "
    "leader_inc_high_watermark(b0)"
)


@pytest.fixture
def picture(ask: Ask) -> dict[str, Any]:
    found: dict[str, Any] = ask("walk", path=WRITTEN)["picture"]
    return found


def test_a_lane_has_its_log_with_records_end_and_marks(picture: Any) -> None:
    first, second = picture["lanes"]
    (log,) = first["logs"]
    assert (first["name"], log["name"], log["end"]) == ("b0", "log[b0]", 1)
    assert log["marks"] == [{"name": "replica.high_watermark", "at": 1}]
    assert [cell["empty"] for cell in log["cells"]] == [False, True, True]
    assert log["cells"][0]["fields"] == [
        {"name": "id", "value": "0"},
        {"name": "leader_epoch", "value": "0"},
    ]
    assert log["cells"][0]["epoch"] == 0
    assert second["logs"][0]["marks"] == [{"name": "replica.high_watermark", "at": 0}]


def test_values_that_the_last_step_changed_are_marked(ask: Ask) -> None:
    before = WRITTEN.rpartition("; ")[0]
    (log,) = ask("walk", path=before)["picture"]["lanes"][1]["logs"]
    assert (log["ended"], log["end"]) == (0, 1)
    assert [cell["changed"] for cell in log["cells"]] == [True, False, False]
    lanes = ask("walk", path="controller_elect_leader(b0)")["picture"]["lanes"]
    assert not any(field["changed"] for lane in lanes for field in lane["fields"])


def test_a_request_is_a_message_to_the_replica_that_it_names(picture: Any) -> None:
    (message,) = picture["messages"]
    assert (message["id"], message["to"], message["changed"]) == ("request[0]", 0, False)
    assert message["fields"][1:] == [
        {"name": "leader", "value": "b0", "changed": False},
        {"name": "isr", "value": "{b0 b1}", "changed": False},
    ]


def test_a_variable_that_names_a_lane_is_its_badge_and_the_rest_are_cards(picture: Any) -> None:
    assert [lane["badges"] for lane in picture["lanes"]] == [["registration.leader"], []]
    assert [card["name"] for card in picture["cards"]] == ["registration", "next_id"]


@pytest.mark.parametrize(
    ("spec", "lanes", "logs"),
    [
        ("replication", "Replica", ["log.record"]),
        ("election", "Replica", ["broker.record"]),
        ("reassignment", "Replica", ["broker.record"]),
        ("group-offsets", "Member", ["log"]),
        ("classic-group", "Member", []),
        ("consumer-group", "Member", []),
        ("share-group", None, ["outcome", "record", "stored"]),
        ("retention", "Replica", ["log.record"]),
        ("quorum", "Replica", ["log.entry", "committed"]),
        ("transactions", "TopicPartition", ["log.record"]),
        ("idempotence", "TopicPartition", ["log.record"]),
        ("replication-abstract", "Replica", ["led.entry", "replica.entry", "committed"]),
        ("transactions-abstract", "Transaction", []),
        ("idempotence-abstract", "Producer", ["stamp"]),
        ("quorum-abstract", "Replica", ["replica.entry", "led.entry"]),
        ("read-committed-abstract", "Transaction", ["delivered", "received", "record"]),
        ("consumer-group-abstract", "Member", []),
        ("classic-group-abstract", "Member", []),
        ("coordinator-abstract", "Transaction", []),
        ("reassignment-abstract", "Replica", []),
        ("pipeline-abstract", "TransactionalId", []),
        ("share-group-abstract", "Slot", []),
        ("retention-abstract", "Replica", ["log.is_compacted", "log.leader_epoch"]),
    ],
)
def test_every_spec_has_the_expected_lanes_and_logs(
    spec: str, lanes: str | None, logs: list[str]
) -> None:
    walk = walk_of(spec)
    lane = Painter.of(walk.writer).lane
    assert (lane.name if lane else None) == lanes
    assert [log.name for log in logs_of(walk.spec)] == logs


def test_the_table_of_lanes_has_every_spec() -> None:
    assert len(SPECS) == 23


@pytest.mark.parametrize("name", SPECS)
def test_every_variable_is_drawn(name: str) -> None:
    picture = explorer_of(name).answer("walk", {})["picture"]
    spec = walk_of(name).spec
    painter = Painter.of(walk_of(name).writer)
    fields = [f["name"] for lane in picture["lanes"] for f in lane["fields"]]
    fields += [f["name"] for card in picture["cards"] for f in card["fields"]]
    heads = {name.partition("[")[0].partition(".")[0] for name in fields}
    for variable in spec.variables:
        head = variable.name.partition(".")[0]
        drawn = (variable.name in painter.hidden, head in painter.messages, head in heads)
        assert any(drawn), variable.name
