"""Trace validation accepts a trace of Kafka 3.9, and rejects its mutants.

Kafka 3 logs transactions in other lines than Kafka 4: states are in camel case, and no line names
a transaction version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest

from checkers.tracing.following import follow
from checkers.tracing.idempotence import PartitionIdempotence
from checkers.tracing.log_lines import log_lines
from checkers.tracing.logged_events import Event
from checkers.tracing.outcomes import Mapping, Refused
from checkers.tracing.reading import Reading, read
from checkers.tracing.replication import PartitionReplication
from checkers.tracing.replication_lines import Step
from checkers.tracing.transaction_lines import TransactionStep
from checkers.tracing.transactions import TransactionalId
from tests.checkers.tracing.logs import leads, reading
from tests.checkers.tracing.mutants import judged, mutants

KAFKA = Path(__file__).parents[2] / "data" / "kafka_trace_3_9"
Begin = Callable[[Sequence[Event]], Mapping | Refused]


@cache
def recorded() -> Reading:
    return read(log_lines(sorted(KAFKA.glob("*.gz"))))


def of_transactional_id() -> Sequence[Event]:
    return recorded().transactional_ids["t-out-2"]


@pytest.mark.parametrize("begin", [PartitionReplication.of, PartitionIdempotence.of])
def test_every_event_of_the_partition_is_taken(begin: Begin) -> None:
    events = recorded().partitions["t-in-0"]
    found = follow(begin(events), events)
    assert found.accepted, found.forbidden


def test_the_leader_was_killed_and_returned_and_no_line_is_unknown() -> None:
    events = recorded().partitions["t-in-0"]
    actions = follow(PartitionReplication.of(events), events).actions
    assert {"elect", "become_leader", "restart", "truncate", "expand_isr"} <= actions.keys()
    assert recorded().unknown == []


def test_every_change_of_the_transactional_id_is_taken() -> None:
    found = follow(TransactionalId.of(of_transactional_id()), of_transactional_id())
    assert found.accepted, found.forbidden
    assert found.taken == 132
    assert (found.actions["end_commit"], found.actions["end_abort"]) == (11, 2)
    assert found.actions["write_marker"] == 26


@pytest.mark.parametrize(
    ("partitions", "more", "version"),
    [
        ("Set(a-0, b-1)", "", None),  # Kafka 3
        ("HashSet(a-0, b-1)", "", None),
        ("Set(a-0, b-1)", ", clientTransactionVersion=TV_2", "TV_2"),  # Kafka 4.0
    ],
)
def test_metadata_of_a_scala_class_is_read(
    tmp_path: Path, partitions: str, more: str, version: str | None
) -> None:
    line = (
        "TRACE TransactionStateManager [data-plane-kafka-request-handler-0] [Transaction State "
        "Manager 1]: Appending new metadata TxnTransitMetadata(producerId=7, lastProducerId=7, "
        "producerEpoch=2, lastProducerEpoch=-1, txnTimeoutMs=10000, txnState=PrepareCommit, "
        f"topicPartitions={partitions}, txnStartTimestamp=1, txnLastUpdateTimestamp=2{more}) "
        "for transaction id app with coordinator epoch 3 to the local transaction log"
    )
    (event,) = reading(tmp_path, (1, leads(0)), (1, line)).transactional_ids["app"]
    assert event.step is TransactionStep.APPEND
    assert (event.text("state"), event.number("epoch")) == ("PREPARE_COMMIT", 2)
    assert event.names("partitions") == {"a-0", "b-1"}
    assert event.fields.get("version") == version


def test_mutated_transactions_are_rejected() -> None:
    found = [*judged(of_transactional_id(), mutants(of_transactional_id()), TransactionalId.of)]
    wrong = [one for one in found if not one.is_equivalent]
    survivors = [str(one.mutant) for one in wrong if one.rejected is None]
    assert len(wrong) > 300
    assert len(survivors) <= 0.01 * len(wrong), survivors


@pytest.mark.parametrize("step", [Step.APPEND, Step.COPY, Step.CHANGE, Step.TRUNCATE])
def test_a_partition_without_one_line_is_rejected(step: Step) -> None:
    events = recorded().partitions["t-in-0"]
    dropped = next(k for k, event in enumerate(events) if Step(event.step) is step)
    mutant = [*events[:dropped], *events[dropped + 1 :]]
    assert follow(PartitionReplication.of(mutant), mutant).forbidden is not None
