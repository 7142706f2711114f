"""The simulated producer batches, lingers, and gives a send up, as the Java client does."""

from __future__ import annotations

import json

import pytest

from model.vocabulary import ProducerEpoch
from reference_impl.simulation.cluster import Cluster
from reference_impl.simulation.faults import Crash, DropResponses, Hold, Lose, On, Restart
from reference_impl.simulation.producer import ProducerConfig
from reference_impl.simulation.runs import LATE_ENDS, run
from reference_impl.simulation.sweeps import SWEEPS
from tests.reference_impl.simulation.test_cluster import sends, started, values

GIVES_UP = ProducerConfig(takes_new_epoch=True, delivery_timeout_ms=400)


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
    """The batch `a` arrives late, after its delivery timeout, and `b` waits for its answer."""
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


@pytest.mark.parametrize(("idempotent", "log"), [(True, "abc"), (False, "bca")])
def test_a_lost_batch_is_retried_after_those_in_flight_unless_sequences_keep_the_order(
    idempotent: bool, log: str
) -> None:
    cluster, producer = started(ProducerConfig(idempotent=idempotent))
    cluster.apply(On(api="Produce", moment="before", does=Lose()))
    cluster.send(producer, "a", "b", "c")
    cluster.recover()
    assert values(cluster) == ["first", *log]


def test_an_idempotent_producer_with_a_delivery_timeout_must_take_a_new_epoch() -> None:
    with pytest.raises(ValueError, match="needs takes_new_epoch"):
        ProducerConfig(delivery_timeout_ms=400)


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
