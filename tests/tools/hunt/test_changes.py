"""`tools.hunt`, which searches for violations on real clusters, requests changes of a running
cluster. It keeps the answer to each request.

A change is, for example, a reassignment, an election or a new topic setting. The tests use the
reference broker.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from checkers.systems.administration import Place
from checkers.systems.requests import call
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving
from tools.hunt import changes
from tools.hunt.changes import CHANGES, NO_ANSWER, Changer, Drawn

PLACE, REPLICAS = ("hunt", 0), (1, 2)


@pytest.fixture
def changer() -> Iterator[Changer]:
    with serving(ServeOptions(brokers=2)) as served:
        addresses: dict[int, Address] = {}
        for number, server in enumerate(served.bootstrap_servers.split(","), 1):
            host, port = server.split(":")
            addresses[number] = (host, int(port))
        topic = {
            "name": "hunt",
            "num_partitions": 1,
            "replication_factor": 2,
            "assignments": [],
            "configs": [],
        }
        body = {"topics": [topic], "timeout": 2_000, "validate_only": False}
        call(addresses[1], Api.CREATE_TOPICS, 5, body)
        yield Changer(random.Random(1), addresses, frozenset({"hunt"}))


def test_requests_go_on_until_the_event_is_set(
    changer: Changer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "EVERY_S", (0.001, 0.002))
    until = threading.Event()

    def twice(to: Changer, place: Place, _: Sequence[int]) -> Drawn:
        if len(to.done) == 1:
            until.set()
        return place[0], lambda: None

    monkeypatch.setitem(changes.CHANGES, "twice", twice)
    changer.run(["twice"], until)
    assert [(one.kind, one.of, one.error) for one in changer.done] == [
        ("twice", "hunt", "NONE")
    ] * 2


def test_without_kinds_nothing_is_changed(changer: Changer) -> None:
    changer.run([], threading.Event())
    assert changer.done == []


@pytest.mark.parametrize(
    ("kind", "answer", "expected"),
    [
        (
            "reassign",
            {"error_code": "NONE", "responses": [{"partitions": [{"error_code": "NONE"}]}]},
            "NONE",
        ),
        (
            "cancel",
            {
                "error_code": "NONE",
                "responses": [{"partitions": [{"error_code": "NO_REASSIGNMENT_IN_PROGRESS"}]}],
            },
            "NO_REASSIGNMENT_IN_PROGRESS",
        ),
        ("reassign", {"error_code": "NOT_CONTROLLER", "responses": []}, "NOT_CONTROLLER"),
        ("elect", {"error_code": "NONE", "replica_election_results": []}, "NONE"),
        (
            "elect",
            {
                "error_code": "NONE",
                "replica_election_results": [
                    {"partition_result": [{"error_code": "ELECTION_NOT_NEEDED"}]}
                ],
            },
            "ELECTION_NOT_NEEDED",
        ),
        ("configure", {"responses": [{"error_code": "INVALID_CONFIG"}]}, "INVALID_CONFIG"),
    ],
)
def test_the_error_in_the_answer_is_kept(
    monkeypatch: pytest.MonkeyPatch, kind: str, answer: Mapping[str, Any], expected: str
) -> None:
    monkeypatch.setattr(changes, "call", lambda *_, **__: answer)
    some = Changer(
        random.Random(1), {1: ("127.0.0.1", 1), 2: ("127.0.0.1", 1)}, frozenset({"hunt"})
    )
    some.change(kind, PLACE, REPLICAS)
    (done,) = some.done
    assert done.of.startswith("hunt")
    assert done.error == expected


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_that_no_broker_answers_is_kept_too(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr(changes, "call", refuse)
    some = Changer(
        random.Random(1), {1: ("127.0.0.1", 1), 2: ("127.0.0.1", 1)}, frozenset({"hunt"})
    )
    some.change(kind, PLACE, REPLICAS)
    assert [one.error for one in some.done] == [NO_ANSWER]
