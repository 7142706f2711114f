"""The simulated producer batches, retries and gives up, as the Java client and librdkafka do."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import pytest

from model.histories import Send as Sent
from model.vocabulary import (
    NO_PRODUCER_ID,
    BrokerId,
    Offset,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
)
from properties.anomalies.log.duplicate import duplicates
from reference_impl.node.step import ResponseReceived
from reference_impl.protocol.messages import FIRST_CLIENT, ErrorCode, NodeId, Produced
from reference_impl.simulation.client_libraries import JAVA, LIBRDKAFKA, Library, Moment
from reference_impl.simulation.clients import NS_PER_MS, Leadership, Observed
from reference_impl.simulation.cluster import Cluster
from reference_impl.simulation.faults import Crash, DropResponses, Heal, Hold, Lose, On, Restart
from reference_impl.simulation.producer import Producer
from reference_impl.simulation.producer_config import ProducerConfig
from reference_impl.simulation.runs import LATE_ENDS, run
from reference_impl.simulation.sweeps import SWEEPS
from tests.reference_impl.simulation.test_cluster import sends, started, values

GIVES_UP = ProducerConfig(library=JAVA, delivery_timeout_ms=400)
NATIVE = ProducerConfig(library=LIBRDKAFKA)


def batches(cluster: Cluster) -> list[int]:
    """Returns the number of records of each batch that a leader received."""
    lines = [json.loads(line) for line in cluster.trace.lines()]
    produced = [line for line in lines if line["action"] == "Produce"]
    return [one["records"] for line in produced for one in line["args"]["batches"]]


def test_records_of_a_batch_have_consecutive_offsets_and_a_process_each() -> None:
    cluster, producer = started(ProducerConfig(batch_records=3))
    cluster.send(producer, "a", "b", "c", "d")
    cluster.recover()
    assert batches(cluster) == [1, 3, 1]
    assert sends(cluster) == {
        value: ("ok", offset) for offset, value in enumerate(["first", "a", "b", "c", "d"])
    }
    first, *together = [op.process for op in cluster.history()[:4]]
    assert (first in together, len({*together})) == (True, 3)


@pytest.mark.parametrize(("linger_ms", "sizes"), [(0, [1, 1, 1, 1]), (100, [1, 3])])
def test_a_batch_that_is_not_full_waits_for_more_records(linger_ms: int, sizes: list[int]) -> None:
    cluster, producer = started(ProducerConfig(batch_records=9, linger_ms=linger_ms))
    for value in ("a", "b", "c"):
        cluster.send(producer, value)
        cluster.run_for(20)
    cluster.recover()
    assert batches(cluster) == sizes


def test_a_send_times_out_and_the_producer_goes_on_under_a_new_epoch() -> None:
    cluster, producer = started(GIVES_UP)
    for broker in cluster.broker_ids:
        cluster.apply(Crash(broker))
    cluster.send(producer, "lost", "too")
    cluster.run_for(1_000)
    assert [sends(cluster)[value] for value in ("lost", "too")] == [("info", None)] * 2
    assert cluster.producer(producer).idle
    for broker in cluster.broker_ids:
        cluster.apply(Restart(broker))
    cluster.send(producer, "next")
    cluster.recover()
    assert cluster.producer(producer).producer_epoch == ProducerEpoch(1)
    assert values(cluster) == ["first", "next"]


def test_a_send_that_timed_out_may_be_in_the_log_but_not_twice_and_not_later() -> None:
    cluster, producer = started(GIVES_UP)
    cluster.apply(DropResponses(producer, 1_000))
    cluster.send(producer, "a", "b")
    cluster.run_for(1_000)
    assert sends(cluster)["a"] == ("info", None)
    cluster.send(producer, "c")
    cluster.recover()
    assert values(cluster) == ["first", "a", "b", "c"]


def test_no_new_batch_is_sent_while_an_earlier_one_is_undecided() -> None:
    """The batch `a` arrives after its delivery timeout. `b` is sent only after the answer to
    `a`.
    """
    cluster, producer = started(GIVES_UP)
    cluster.apply(On(api="Produce", moment="before", count=9, does=Hold(380)))
    cluster.send(producer, "a")
    cluster.run_for(200)
    cluster.send(producer, "b")
    cluster.run_for(250)
    assert sends(cluster)["a"] == ("info", None)
    cluster.send(producer, "c")
    assert cluster.producer(producer).is_unresolved
    assert [send.value for batch in cluster.producer(producer).begun for send in batch.sends] == [
        "b"
    ]
    cluster.recover()
    assert [value for value in values(cluster) if value != "a"] == ["first", "b", "c"]


@pytest.mark.parametrize(
    ("library", "idempotent", "log"),
    [
        (JAVA, True, "abc"),
        (JAVA, False, "bca"),
        (LIBRDKAFKA, True, "abc"),
        (LIBRDKAFKA, False, "bcabc"),  # it closes the connection, and retries all of them
    ],
)
def test_a_lost_batch_is_retried_after_those_in_flight_unless_sequences_keep_the_order(
    library: Library, idempotent: bool, log: str
) -> None:
    cluster, producer = started(ProducerConfig(idempotent=idempotent, library=library))
    cluster.apply(On(api="Produce", moment="before", does=Lose()))
    cluster.send(producer, "a", "b", "c")
    cluster.recover()
    assert values(cluster) == ["first", *log]


def test_an_idempotent_producer_with_a_delivery_timeout_needs_the_rules_of_a_library() -> None:
    with pytest.raises(ValueError, match="needs a library's rules"):
        ProducerConfig(delivery_timeout_ms=400)


# ---------------------------------------------------------------- the rules of a library


@pytest.mark.parametrize(
    ("library", "new_epoch", "log"),
    [
        (JAVA, Moment.DECIDED, "ab"),
        (JAVA, Moment.AT_ONCE, "abb"),  # wrong: `b` is in the log under the old epoch too
        (LIBRDKAFKA, Moment.DECIDED, "ab"),
        (LIBRDKAFKA, Moment.DRAINED, "abb"),  # its rule: `b` waits for its retry, not in flight
    ],
)
def test_after_a_timeout_a_batch_that_may_be_written_is_numbered_again(
    library: Library, new_epoch: Moment, log: str
) -> None:
    """The responses of `a` and `b` are lost, and `a` times out before `b`.

    If the producer takes a new epoch only after the response to `b`, it retries `b` under its old
    number, and the leader drops the retry as a duplicate.
    """
    rules = replace(library, new_epoch=new_epoch)
    cluster, producer = started(ProducerConfig(library=rules, delivery_timeout_ms=500))
    cluster.add_consumer()
    cluster.apply(DropResponses(producer, 1_000))
    cluster.send(producer, "a")
    cluster.run_for(150)
    cluster.send(producer, "b")
    while any(send.value == "a" for one in cluster.producer(producer).begun for send in one.sends):
        cluster.run_for(10)
    cluster.apply(Heal())
    cluster.recover()
    assert values(cluster) == ["first", *log]
    assert bool(duplicates(cluster.history())) is (log == "abb")


def test_a_send_of_librdkafka_that_no_attempt_wrote_fails_at_its_timeout() -> None:
    """The leader refuses the value `refused`, because too few replicas are in sync. The responses
    to the value `lost` are lost.
    """
    cluster, producer = started(replace(NATIVE, delivery_timeout_ms=400))
    for broker in cluster.broker_ids:
        if broker != cluster.leader():
            cluster.apply(Crash(broker))
    cluster.run_for(3_000)
    cluster.send(producer, "refused")
    cluster.run_for(1_000)
    assert sends(cluster)["refused"] == ("fail", None)
    for broker in cluster.broker_ids:
        cluster.apply(Restart(broker))
    cluster.send(producer, "second")
    cluster.recover()
    cluster.apply(DropResponses(producer, 1_000))
    cluster.send(producer, "lost")
    cluster.run_for(1_000)
    assert sends(cluster)["lost"] == ("info", None)
    cluster.recover()
    assert values(cluster) == ["first", "second", "lost"]


def test_librdkafka_retries_when_nothing_is_in_flight_and_then_all_at_once() -> None:
    cluster, producer = started(NATIVE)
    cluster.apply(On(api="Produce", moment="before", does=Lose()))
    cluster.send(producer, "a", "b", "c")
    cluster.run_for(295)
    assert [batch.attempts for batch in cluster.producer(producer).begun] == [1, 1, 1]
    assert cluster.run_until(lambda: cluster.producer(producer).begun[0].attempts == 2, 100)
    assert [batch.attempts for batch in cluster.producer(producer).begun] == [2, 2, 2]
    cluster.recover()
    assert cluster.producer(producer).producer_epoch == ProducerEpoch(0)
    assert values(cluster) == ["first", "a", "b", "c"]


def test_without_idempotence_a_refused_batch_of_librdkafka_is_sent_after_the_next_one() -> None:
    it = Asked.begun(LIBRDKAFKA, "a", "b", idempotent=False)
    assert it.answers(0, REFUSED) == []
    assert it.answers(1, ErrorCode.NONE, 5) == ["b ok"]
    assert [send.value for batch in it.producer.begun for send in batch.sends] == ["a"]


@dataclass(slots=True)
class Asked:
    """A producer whose requests a test answers by itself."""

    producer: Producer
    now_ms: int = 0

    @classmethod
    def begun(cls, library: Library, *values: str, idempotent: bool = True) -> Asked:
        config = ProducerConfig(library=library, idempotent=idempotent)
        place = TopicPartition("t", 0)
        known = Leadership(topic_partition=place, brokers=(BrokerId(1),), leader=BrokerId(1))
        producer = Producer(
            client_id=NodeId(FIRST_CLIENT),
            first_process=0,
            config=config,
            leadership=known,
            producer_id=ProducerId(7),
            acknowledged_any=True,
        )
        return cls(producer.send(0, *values)[0])

    def answers(self, number: int, error: ErrorCode, offset: int = -1) -> list[str]:
        """Delivers the response to the request with the number `number`, and returns the sends that
        end.
        """
        produced = Produced(error=error, base_offset=Offset(offset))
        event = ResponseReceived(correlation=number, sender=NodeId(1), response=produced)
        self.now_ms += 1
        self.producer, effects = self.producer.step(self.now_ms * NS_PER_MS, event)
        return [
            f"{did.value} {one.operation.outcome}"
            for one in effects
            if isinstance(one, Observed)
            for did in one.operation.did
            if isinstance(did, Sent)
        ]


REFUSED = ErrorCode.NOT_ENOUGH_REPLICAS
OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_librdkafka_takes_a_new_epoch_when_the_requests_behind_a_refused_one_have_returned() -> (
    None
):
    it = Asked.begun(LIBRDKAFKA, "a", "b", "c")
    assert it.answers(2, OUT_OF_ORDER) == []  # read after the first two
    assert it.answers(0, REFUSED) == []
    assert it.producer.producer_epoch == 0
    assert it.answers(1, OUT_OF_ORDER) == []
    assert it.producer.producer_epoch == 1
    assert [(batch.sequence, batch.awaits) for batch in it.producer.begun] == [
        (0, None), (1, None), (2, None),
    ]  # fmt: skip
    java = Asked.begun(JAVA, "a", "b", "c")
    for number, error in ((2, OUT_OF_ORDER), (0, REFUSED), (1, OUT_OF_ORDER)):
        java.answers(number, error)
    assert java.producer.producer_epoch == 0  # the same numbers again


def test_a_fatal_error_of_librdkafka_ends_its_open_sends_and_another_producer_goes_on() -> None:
    it = Asked.begun(LIBRDKAFKA, "a", "b")
    assert it.answers(0, OUT_OF_ORDER) == ["a info", "b info"]
    assert it.producer.producer_id == NO_PRODUCER_ID
    assert not it.producer.begun
    assert it.producer.over is None
    java = Asked.begun(JAVA, "a", "b")
    assert java.answers(0, OUT_OF_ORDER) == []
    assert (java.producer.producer_id, java.producer.producer_epoch) == (7, 1)


def test_an_acknowledgement_of_librdkafka_includes_the_earlier_batches() -> None:
    it = Asked.begun(LIBRDKAFKA, "a", "b")
    assert it.answers(0, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND) == []
    assert it.answers(1, ErrorCode.NONE, 5) == ["a ok", "b ok"]
    java = Asked.begun(JAVA, "a", "b")
    java.answers(0, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    assert java.answers(1, ErrorCode.NONE, 5) == ["b ok"]


# ---------------------------------------------------------------- sweeps


def test_the_sweep_of_batches_draws_both_libraries() -> None:
    scenario = SWEEPS["batches"].scenario
    drawn = {config.library for seed in range(9) for config in scenario(seed).producers}
    assert drawn == {JAVA, LIBRDKAFKA}


def test_a_client_of_version_1_aborts_after_a_late_record_and_goes_on() -> None:
    found = run(SWEEPS["version-1"].scenario(4))
    transactions = [op for op in found.history if op.f == "txn"]
    late = [op for op in transactions if op.error == "NETWORK_EXCEPTION"]
    assert {op.outcome for op in late} == {"fail"}
    for aborted in late:
        same = [op for op in transactions if op.process == aborted.process]
        assert any(op.outcome == "ok" and op.invoked_ns > aborted.invoked_ns for op in same)


def test_sends_time_out_in_the_sweep_of_batches_and_batches_have_several_records() -> None:
    found = run(SWEEPS["batches"].scenario(1))
    errors = [op.error for op in found.history if op.f == "send" and op.outcome == "info"]
    assert "REQUEST_TIMED_OUT" in errors
    lines = (json.loads(line) for line in found.trace.lines())
    produced = [line for line in lines if line["action"] == "Produce"]
    assert max(one["records"] for line in produced for one in line["args"]["batches"]) > 1


def test_ends_and_markers_are_drawn_to_be_late() -> None:
    sweep = SWEEPS["late-ends"]
    drawn = {
        planned.fault.api
        for seed in range(30)
        for planned in sweep.scenario(seed).faults
        if isinstance(planned.fault, On)
    }
    assert drawn == {"EndTxn", "WriteTxnMarker"}
    assert len(LATE_ENDS) == 4
