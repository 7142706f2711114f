"""The actions and checks of reproductions, on the reference broker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from checkers.histories.analysis import analyze
from checkers.record.processes import Topic
from checkers.reproduce import conducting
from checkers.reproduce.actions import (
    begin_send,
    cancel_reassignment,
    coordinate_at,
    delete_all,
    delete_records,
    elect_unclean,
    end_transaction,
    fetch_committed,
    list_offsets,
    nothing,
    produce,
    read,
    restart,
    send,
    send_in_transaction,
    send_to,
    start,
    to,
    transaction,
    use_epochs,
)
from checkers.reproduce.checks import (
    acknowledged,
    coordinates,
    deleted,
    done,
    is_noted,
    lost,
    partition,
    refused,
    registered,
    unanswered,
    was_read,
)
from checkers.reproduce.reproduction import Seen, Step
from checkers.reproduce.stage import Stage
from checkers.reproduce.transactions import NO_ANSWER, RawTransactions
from checkers.systems.administration import Administration, Refused, accept
from checkers.systems.system import Ability
from reference_impl.wire.messages.apis import Api


def create(replicas: int, **configs: str) -> Callable[[Stage], None]:
    """Returns a function that creates the topic of a reproduction, with one partition.

    The partition has `replicas` replicas, on brokers that Kafka chooses.
    """

    def do(stage: Stage) -> None:
        topic = {
            "name": stage.topic.name,
            "num_partitions": 1,
            "replication_factor": replicas,
            "configs": [{"name": k.replace("_", "."), "value": v} for k, v in configs.items()],
        }
        accept(stage.call(Api.CREATE_TOPICS, 5, {"topics": [topic], "timeout": 5_000})["topics"][0])

    return do


def take(stage: Stage, do: Any, happened: Any, within_s: float = 5.0) -> Seen:
    return conducting._take(Step("a step", do, happened, within_s), stage)


@pytest.mark.parametrize("error", [Refused("NOT_COORDINATOR", ""), KafkaException(KafkaError(15))])
def test_an_error_of_a_client_or_broker_is_a_step_that_did_not_happen(
    stage: Stage, error: Exception
) -> None:
    def fails(_: Stage) -> Any:
        raise error

    assert take(stage, fails, done) == Seen(reached=False, text=str(error))
    assert take(stage, nothing, fails, within_s=0).text == f"not within 0 s: {error}"


def test_a_schedule_is_taken_step_by_step_and_leaves_a_history(
    stage: Stage, tmp_path: Path
) -> None:
    assert take(stage, create(2), partition(leader=1, isr=(1, 2), replicas=(1, 2))) == Seen(
        reached=True, text="leader 1, ISR [1 2], ELR [], replicas [1 2], epoch 0"
    )
    assert take(stage, send("a", "b"), acknowledged("a", "b")).text == (
        "acknowledged at offsets 0 to 1"
    )
    assert take(stage, begin_send("c"), acknowledged("c")).reached
    assert take(stage, send_to(1, "d"), acknowledged("d")).text == "acknowledged at offsets 3"
    assert take(stage, read, was_read).reached
    assert take(stage, delete_records(1, at=1), done).reached

    found = analyze(tmp_path / "history")  # it is still being written
    assert found.verdict == "holds"
    assert found.operations == stage.shared.history.operations > 6


def test_a_transaction_is_one_operation(stage: Stage) -> None:
    take(stage, create(1), partition(leader=1))
    begin = transaction(lambda it: it.begin(), version=2)
    assert take(stage, begin, is_noted("NONE")).reached
    assert take(stage, send_in_transaction("a"), is_noted("NONE")).reached
    assert take(stage, end_transaction(commit=True), is_noted("NONE")).reached
    assert take(stage, send_in_transaction("b"), is_noted("NONE")).reached
    assert take(stage, end_transaction(commit=False), is_noted("NONE")).reached
    assert stage.shared.history.operations == 2


def test_a_step_that_does_not_happen_is_reported_with_the_observed_state(stage: Stage) -> None:
    take(stage, create(2), partition(leader=1))

    seen = take(stage, nothing, partition(leader=2), within_s=0.2)
    assert seen.text == ("not within 0 s: leader 1, ISR [1 2], ELR [], replicas [1 2], epoch 0")
    assert not take(stage, nothing, partition(elr_has=2), within_s=0).reached
    assert take(stage, nothing, acknowledged("a"), within_s=0).text.endswith("a (pending)")


def test_a_request_that_is_refused_ends_the_schedule(stage: Stage) -> None:
    take(stage, create(1), partition(leader=1))

    seen = take(stage, create(1), done)
    assert not seen.reached
    assert seen.text.startswith("TOPIC_ALREADY_EXISTS")
    with pytest.raises(Refused, match="TOPIC_ALREADY_EXISTS"):
        create(1)(stage)


def test_a_record_is_refused_or_stays_unanswered(stage: Stage) -> None:
    take(stage, create(2), partition(leader=1, at=2))

    assert take(stage, send_to(2, "a"), refused("a", "NOT_LEADER_OR_FOLLOWER")).reached
    assert not take(stage, nothing, unanswered("a", for_s=0), within_s=0).reached
    assert take(stage, nothing, unanswered("b", for_s=0)).reached


def test_a_schedule_is_about_the_last_partition_of_the_topic(stage: Stage) -> None:
    stage.topic = Topic("t", 2)
    take(stage, create(2), partition(leader=1, index=0))

    assert not take(stage, nothing, partition(leader=1), within_s=0).reached
    body = {"topics": [{"name": "t", "count": 2, "assignments": None}], "timeout": 5_000}
    accept(stage.call(Api.CREATE_PARTITIONS, 2, body)["results"][0])
    assert take(stage, nothing, partition(isr=(1, 2))).reached
    assert take(stage, send("a"), acknowledged("a")).reached
    assert stage.key == "t-1"


def test_actions_on_brokers_are_faults_of_the_history(stage: Stage) -> None:
    to(Ability.KILL, 1)(stage)
    assert stage.up() == (2,)
    to(Ability.START, 1)(stage)

    assert stage.up() == (1, 2)
    assert [(fault.do, fault.node) for fault in stage.faults] == [("kill", 1), ("start", 1)]


def test_brokers_are_started_together_and_then_awaited(stage: Stage) -> None:
    cluster: Any = stage.cluster
    start(1, 2)(stage)
    assert cluster.done == [("start", 1), ("start", 2), ("await", 1), ("await", 2)]

    cluster.done.clear()
    restart(Ability.STOP, 2)(stage)
    assert cluster.done == [("stop", 2), ("start", 2), ("await", 2)]


def test_a_power_loss_is_counted_in_records_of_the_partition(stage: Stage) -> None:
    to(Ability.LOSE_POWER, 1)(stage)
    assert stage.up() == (2,)
    to(Ability.START, 1)(stage)

    assert lost(3, 1)(stage) == Seen(reached=True, text="broker 1 lost 3 records")
    assert not lost(3, 1, 2)(stage).reached
    assert lost(0, 2)(stage).reached


def test_offsets_and_records_that_were_deleted_are_noted(stage: Stage) -> None:
    take(stage, create(2), partition(leader=1))
    take(stage, send("a", "b", "c"), acknowledged("a", "b", "c"))

    assert take(stage, list_offsets(-2, at=1), is_noted("offset 0")).reached
    assert take(stage, delete_all(2, at=1), is_noted("NONE, low watermark 2")).reached
    assert take(stage, list_offsets(-2, at=1), is_noted("offset 2")).reached


def test_a_fetch_at_read_committed_notes_the_last_stable_offset(stage: Stage) -> None:
    take(stage, create(2), partition(leader=1))
    take(stage, send("a", "b"), acknowledged("a", "b"))

    noted = is_noted("last stable offset 2, records [a b]")
    assert take(stage, fetch_committed(at=1), noted).reached


def test_the_partitions_of_coordinators_are_moved_together(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[Any] = []
    found = {("__transaction_state", 0): (1,), ("t", 0): (1,), ("__transaction_state", 1): (2,)}
    monkeypatch.setattr(Stage, "client", object())
    monkeypatch.setattr(Administration, "replicas", lambda _: found)
    monkeypatch.setattr(Administration, "reassign", lambda _, replicas: moved.append(replicas))
    coordinate_at(3)(stage)
    assert moved == [{("__transaction_state", 0): (3,), ("__transaction_state", 1): (3,)}]


def test_epochs_are_used_up_and_a_lost_answer_is_repeated(stage: Stage) -> None:
    take(stage, create(1), partition(leader=1))
    take(stage, transaction(lambda it: it.begin()), is_noted("NONE"))

    assert take(stage, use_epochs(5), is_noted("NONE")).reached
    assert stage.transactions(1).epoch == 5
    again = transaction(lambda it: it.next_epoch(5))
    assert take(stage, again, is_noted("NONE, epoch 6")).reached
    assert take(stage, again, is_noted("NONE, epoch 6")).reached


@pytest.mark.parametrize("opens", [False, True])
def test_a_fenced_instance_aborts_only_an_open_transaction(stage: Stage, opens: bool) -> None:
    take(stage, create(2), partition(leader=1))
    take(stage, transaction(lambda it: it.begin()), is_noted("NONE"))
    take(stage, transaction(lambda it: it.begin()), is_noted("NONE"))
    assert stage.transactions(1).epoch == 1
    if opens:
        take(stage, transaction(lambda it: it.add_partition()), is_noted("NONE"))
        wait = is_noted("CONCURRENT_TRANSACTIONS, epoch -1")
        once = transaction(lambda it: it.next_epoch(0, busy_for_s=0.0))
        assert take(stage, once, wait).reached

    refused = is_noted("PRODUCER_FENCED, epoch -1")
    assert take(stage, transaction(lambda it: it.next_epoch(0)), refused).reached
    add = transaction(lambda it: it.add_partition())
    assert take(stage, add, is_noted("PRODUCER_FENCED" if opens else "NONE")).reached


@pytest.mark.parametrize("unknown_first", [False, True])
def test_two_markers_of_one_request_are_both_answered(stage: Stage, unknown_first: bool) -> None:
    take(stage, create(2), partition(leader=1))
    take(stage, transaction(lambda it: it.begin()), is_noted("NONE"))
    take(stage, transaction(lambda it: it.add_partition()), is_noted("NONE"))
    send = produce("a")
    assert take(stage, send, is_noted("NONE")).reached

    both = transaction(lambda it: it.two_markers(unknown_first=unknown_first))
    assert take(stage, both, is_noted("NONE, UNKNOWN_TOPIC_OR_PARTITION")).reached
    assert take(stage, fetch_committed(at=1), is_noted("last stable offset 2, records [a]")).reached


def test_a_request_with_two_markers_may_get_no_answer() -> None:
    sent: list[int] = []

    def call(_: Api, __: int, body: Mapping[str, Any]) -> Any:
        sent.extend(marker["producer_id"] for marker in body["markers"])
        raise TimeoutError

    producer = RawTransactions(call, "t", version=1, producer_id=7, epoch=0)
    assert producer.two_markers(unknown_first=False) == NO_ANSWER
    assert sent == [7, 8]


def test_brokers_and_a_topic_are_looked_up_in_the_metadata(stage: Stage) -> None:
    assert take(stage, nothing, deleted()).text == "no topic"
    take(stage, create(1), partition(leader=1))

    assert not take(stage, nothing, deleted(at=2), within_s=0).reached
    take(stage, to(Ability.KILL, 1), done)
    take(stage, to(Ability.KILL, 2), done)
    assert "no broker responds" in take(stage, nothing, deleted(), within_s=0).text
    take(stage, to(Ability.START, 1), done)
    take(stage, to(Ability.START, 2), done)
    assert take(stage, nothing, registered(1, 2, at=1)).text == "brokers [1, 2]"
    assert not take(stage, nothing, registered(1, at=1), within_s=0).reached


def test_the_coordinator_of_a_transactional_id_is_looked_up_at_one_broker(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(stage, create(1), partition(leader=1))
    take(stage, transaction(lambda it: it.begin()), is_noted("NONE"))
    asked, call = list[int | None](), Stage.call

    def noted(
        stage: Stage, api: Api, version: int, body: Mapping[str, Any], at: int | None = None
    ) -> Any:
        asked.append(at)
        return call(stage, api, version, body, at)

    monkeypatch.setattr(Stage, "call", noted)
    found = [take(stage, nothing, coordinates(at), within_s=0).reached for at in (1, 2)]
    assert (sorted(found), asked) == ([False, True], [1, 2])


def test_a_reassignment_is_cancelled_only_while_it_is_in_progress(stage: Stage) -> None:
    take(stage, create(1), partition(leader=1))

    assert take(stage, cancel_reassignment, done).text.startswith("NO_REASSIGNMENT_IN_PROGRESS")


def test_an_unclean_election_leaves_a_leader_alone(stage: Stage) -> None:
    take(stage, create(2), partition(leader=1))

    assert take(stage, elect_unclean, partition(leader=1, isr=(1, 2))).reached
