"""Each logged change of a transactional id must be a step of the spec `transactions-abstract`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from checkers.tracing.following import Followed, follow
from checkers.tracing.log_lines import log_lines
from checkers.tracing.logged_events import Event
from checkers.tracing.reading import read
from checkers.tracing.transactions import TransactionalId
from tests.checkers.tracing.logs import Line, reading
from tests.checkers.tracing.mutants import judged, mutants

KAFKA = Path(__file__).parents[2] / "data" / "kafka_trace"


def metadata(state: str, epoch: int, partitions: str, version: str, producer: int) -> str:
    return (
        f"TxnTransitMetadata[producerId={producer}, prevProducerId={producer}, nextProducerId=-1, "
        f"producerEpoch={epoch}, lastProducerEpoch=-1, txnTimeoutMs=60000, txnState={state}, "
        f"topicPartitions=[{partitions}], txnStartTimestamp=1, txnLastUpdateTimestamp=1, "
        f"clientTransactionVersion={version}]"
    )


def appended(
    state: str, epoch: int, partitions: str = "", version: str = "TV_2", producer: int = 7
) -> str:
    return (
        "TRACE TransactionStateManager [h] [Transaction State Manager 1]: Appending new metadata "
        f"{metadata(state, epoch, partitions, version, producer)} for transaction id app with "
        "coordinator epoch 0 to the local transaction log"
    )


def changed(
    state: str, epoch: int, partitions: str = "", version: str = "TV_2", producer: int = 7
) -> str:
    return (
        "DEBUG TransactionStateManager [h] [Transaction State Manager 1]: Updating app's "
        f"transaction state to {metadata(state, epoch, partitions, version, producer)} with "
        "coordinator epoch 0 for app succeeded"
    )


def both(
    state: str, epoch: int, partitions: str = "", version: str = "TV_2", producer: int = 7
) -> tuple[Line, Line]:
    words = (state, epoch, partitions, version, producer)
    return (1, appended(*words)), (1, changed(*words))


def sends_marker(result: str, epoch: int, partitions: str = "a-0", coordinator: int = 0) -> Line:
    return (
        1,
        "TRACE TransactionMarkerChannelManager [h] [Transaction Marker Channel Manager 1]: Added "
        f"marker TxnMarkerEntry{{producerId=7, producerEpoch={epoch}, "
        f"coordinatorEpoch={coordinator}, result={result}, partitions=[{partitions}], "
        "transactionVersion=2} for transactional id app to destination broker 1",
    )


def marked(state: str) -> Line:
    return (
        1,
        "TRACE TransactionMarkerChannelManager [s] [Transaction Marker Channel Manager 1]: "
        f"Completed sending transaction markers for app; begin transition to {state}",
    )


COMMITTED: tuple[Line, ...] = (
    *both("EMPTY", 0),
    *both("ONGOING", 0, "a-0"),
    *both("ONGOING", 0, "a-0, b-1"),
    *both("PREPARE_COMMIT", 1, "a-0, b-1"),
    sends_marker("COMMIT", 1, "a-0, b-1"),
    marked("COMPLETE_COMMIT"),
    *both("COMPLETE_COMMIT", 1),
)


def run(folder: Path, *lines: Line) -> Followed:
    events = reading(folder, *lines).transactional_ids["app"]
    return follow(TransactionalId.of(events), events)


def why(folder: Path, *lines: Line) -> str:
    """Returns the reason why the spec forbids the last line of a trace; fails if there is none."""
    found = run(folder, *lines)
    assert found.forbidden is not None, "all lines were accepted"
    assert found.forbidden.number == found.events - 1
    return found.forbidden.why


def recorded() -> list[Event]:
    return read(log_lines(sorted(KAFKA.glob("*.gz")))).transactional_ids["tx1"]


def fenced() -> list[Event]:
    """Returns the recorded events of a transactional id; its producer times out and is fenced."""
    folder = KAFKA.with_name("kafka_trace_producers")
    return read(log_lines(sorted(folder.glob("*.gz")))).transactional_ids["tx1"]


def test_recorded_timeouts_and_fenced_instances_are_accepted() -> None:
    found = follow(TransactionalId.of(fenced()), fenced())
    assert found.accepted, found.forbidden
    assert found.actions["fence"] == found.actions["init_producer"] == 2
    assert found.actions["begin"] == found.actions["complete_transaction"] == 6


def test_the_recorded_commit_and_abort_of_kafka_are_accepted() -> None:
    found = follow(TransactionalId.of(recorded()), recorded())
    assert found.accepted, found.forbidden
    assert found.actions == {
        "begin": 2, "add_partition": 2, "end_commit": 1, "end_abort": 1, "write_marker": 2,
        "complete_transaction": 2,
    }  # fmt: skip


def test_a_transaction_of_version_2_is_followed_to_its_end(tmp_path: Path) -> None:
    found = run(tmp_path, *COMMITTED, *both("ONGOING", 1, "a-0"), *both("PREPARE_ABORT", 2, "a-0"))
    assert found.accepted, found.forbidden
    assert found.actions["write_marker"] == 2
    assert found.actions["begin"] == 2


def test_a_marker_of_a_new_coordinator_confirms_the_old_one_s_decision(tmp_path: Path) -> None:
    """The old coordinator began to append PREPARE_COMMIT, and died before it logged the success.

    A marker of the new coordinator proves that the append succeeded, so the trace is accepted. If
    the old coordinator itself sends a marker before it logs the success, the trace is forbidden.
    """
    confirmed, marker = COMMITTED[7], COMMITTED[8]
    assert confirmed[1] == changed("PREPARE_COMMIT", 1, "a-0, b-1")
    later = sends_marker("COMMIT", 1, "a-0, b-1", coordinator=1)
    rest = COMMITTED[9:]
    of_next = [(n, text.replace("coordinator epoch 0", "coordinator epoch 1")) for n, text in rest]
    assert run(tmp_path, *COMMITTED[:7], later, *of_next).accepted
    zombie = (*COMMITTED[:7], later, *rest)  # the line before the last completes the transaction
    assert why(tmp_path, *zombie) == "coordinator epoch 1 has sent markers before"
    assert why(tmp_path, *COMMITTED[:7], marker) == "no transaction is committed"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            (*COMMITTED[:8], sends_marker("ABORT", 1)),
            "no transaction is aborted",
        ),
        (
            (*COMMITTED[:8], sends_marker("COMMIT", 0)),
            "marker epoch: the line has 0, the spec 1",
        ),
        (
            (*COMMITTED[:4], *both("PREPARE_COMMIT", 1, "a-0"), sends_marker("COMMIT", 1, "b-1")),
            "a marker goes to b-1, which is not added to the transaction",
        ),
        (
            (*COMMITTED[:8], *both("COMPLETE_COMMIT", 1)),
            "complete_transaction(x=0) is not allowed: it needs forall(",
        ),
        (
            (*COMMITTED[:6], *both("COMPLETE_COMMIT", 1)),
            "the transaction is ONGOING and completes without a decision",
        ),
        (
            (*COMMITTED[:4], *both("PREPARE_COMMIT", 0, "a-0")),
            "end_commit(x=0, marker_epoch=0) is not allowed: it needs current_epoch[producer",
        ),
        (
            (*COMMITTED[:8], *both("ONGOING", 1, "a-0")),
            "begin(x=1, producer=0) is not allowed: it needs forall(",
        ),
        (
            (*COMMITTED[:3], (1, changed("ONGOING", 0, "c-0"))),
            "the change is not the one that the coordinator appended last",
        ),
        (
            (*COMMITTED, *both("ONGOING", 0, "a-0")),
            "producer epoch: the line has 0, the spec 1",
        ),
    ],
    ids=lambda text: text[:30] if isinstance(text, str) else "",
)
def test_a_line_that_the_spec_forbids_is_rejected(
    lines: tuple[Line, ...], reason: str, tmp_path: Path
) -> None:
    assert why(tmp_path, *lines).startswith(reason)


def test_the_coordinator_aborts_a_transaction_of_an_old_client_in_a_new_epoch(
    tmp_path: Path,
) -> None:
    """A coordinator's abort after a timeout begins a new producer epoch, even for an old client.

    The cluster uses transaction version 2, in which each transaction ends with a new producer
    epoch; the client uses version 0.
    """
    found = run(
        tmp_path,
        *both("EMPTY", 0, "", "TV_0"),
        *both("ONGOING", 0, "a-0", "TV_0"),
        *both("PREPARE_ABORT", 1, "a-0", "TV_2"),
        sends_marker("ABORT", 1),
        marked("COMPLETE_ABORT"),
        *both("COMPLETE_ABORT", 1, "", "TV_2"),
        *both("EMPTY", 2, "", "TV_2"),
        *both("ONGOING", 2, "a-0", "TV_0"),
    )
    assert found.accepted, found.forbidden
    assert found.actions["fence"] == 1
    assert found.actions["init_producer"] == 1


def test_a_client_that_changes_its_version_is_outside_of_the_spec(tmp_path: Path) -> None:
    found = run(tmp_path, *COMMITTED, *both("ONGOING", 1, "a-0", "TV_0")).forbidden
    assert found is not None
    assert found.is_outside


def test_an_append_may_be_logged_after_the_change_that_it_makes(tmp_path: Path) -> None:
    """The line of a change may come before the line of the append that causes the change.

    If a partition has one replica, Kafka runs the callback of an append before it logs the append.
    """
    swapped = [line for k in range(0, 8, 2) for line in (COMMITTED[k + 1], COMMITTED[k])]
    assert run(tmp_path, *swapped, *COMMITTED[8:]).accepted


def test_an_append_that_failed_may_be_followed_by_another(tmp_path: Path) -> None:
    failed = (
        "DEBUG TransactionStateManager [h] [Transaction State Manager 1]: Appending app's new "
        "metadata TxnTransitMetadata[] failed due to NotEnoughReplicasException"
    )
    first, again = (1, appended("EMPTY", 0)), both("EMPTY", 0)
    assert run(tmp_path, first, (1, failed), *again).accepted
    assert why(tmp_path, first, again[0]) == "the change before was neither confirmed nor refused"


def test_another_producer_id_is_outside_of_the_spec(tmp_path: Path) -> None:
    found = run(tmp_path, *both("EMPTY", 0), *both("EMPTY", 0, producer=8)).forbidden
    assert found is not None
    assert found.is_outside


def test_the_state_near_a_forbidden_line_is_that_of_the_coordinator(tmp_path: Path) -> None:
    found = run(tmp_path, *COMMITTED[:8], sends_marker("ABORT", 1)).forbidden
    assert found is not None
    assert found.state == (
        "coordinator: PREPARE_COMMIT, producer 7, epoch 1, partitions ['a-0', 'b-1']",
        "transaction 0: committed; added ['a-0', 'b-1'], marked []",
    )


def test_mutants_of_made_and_recorded_traces_are_rejected(tmp_path: Path) -> None:
    made = reading(tmp_path, *COMMITTED).transactional_ids["app"]
    survivors = Counter[str]()
    wrong = 0
    for events in (made, recorded(), fenced()):
        for one in judged(events, mutants(events), TransactionalId.of):
            wrong += not one.is_equivalent
            if not one.is_equivalent and one.rejected is None:
                survivors[f"{one.mutant.kind} {one.mutant.original.step.name}"] += 1
    assert wrong > 600
    assert survivors.total() <= 0.011 * wrong  # of the recorded ones alone, 0.6 %
    assert dict(survivors) == {
        "dropped CHANGE": 3,  # the last line: no later line reads it
        "dropped APPEND": 3,  # the last: its change is confirmed first
        "swapped APPEND": 1,  # the last, with its change: Kafka logs them in either order
    }
