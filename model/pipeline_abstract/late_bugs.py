"""Bugs of the version `with-late-requests` of the spec `pipeline-abstract`. In each of them except
`commits-unacknowledged`, a late request or marker takes effect.
"""

from __future__ import annotations

from model.language import Bool, true
from model.pipeline_abstract.late_requests import WithLateRequests
from model.pipeline_abstract.late_state import ProducerEpoch
from model.pipeline_abstract.state import TopicPartition, TransactionalId
from model.releases import UNRELEASED, kafka
from model.variants import Constants, bug

FIX = "with-late-requests"
ALONE: Constants = {"epochs": 4, "instances": 1, "generations": 1}


@bug(
    "keeps-epoch",
    breaks="each_input_at_most_once",
    steps=21,
    at=ALONE,
    fixed_by=FIX,
    in_force=kafka("0.11", "3.5"),
)
class KeepsEpoch(WithLateRequests):
    """Before KIP-890: a marker carries the epoch of the transaction's records, so the output still
    accepts a late record after the marker.

    This record awaits the marker of the next transaction of the transactional id. The action
    `write_output_marker` breaks the lemma `markers_are_seen`.
    """

    def epoch_in_marker(s, x: TransactionalId, e: ProducerEpoch) -> ProducerEpoch:
        return e

    def accepts_marker(s, seen: ProducerEpoch, marker: ProducerEpoch) -> Bool:
        return seen <= marker


@bug(
    "skips-verification",
    breaks="each_input_at_most_once",
    steps=15,
    at=ALONE,
    fixed_by=FIX,
    in_force=UNRELEASED,
)
class SkipsVerification(WithLateRequests):
    """The leader of the output does not verify the first record of a transaction.

    After another instance has received a larger epoch, a late record of the fenced instance still
    arrives, and joins the next transaction. The action `append` breaks the lemma
    `content_is_of_the_latest_transaction`.
    """

    def is_record_verified(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        return true


@bug(
    "accepts-late-offsets",
    breaks="position_is_exact",
    steps=13,
    at=ALONE,
    fixed_by=FIX,
    in_force=UNRELEASED,
)
class AcceptsLateOffsets(WithLateRequests):
    """The group coordinator does not compare the epoch of a TxnOffsetCommit request.

    A late TxnOffsetCommit request of an earlier epoch replaces the pending offset of the present
    transaction. The action `accept_offset` breaks the lemma `content_is_of_the_latest_transaction`.
    """

    def is_offset_verified(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        return s.ongoing[x] & (e <= s.transaction_epoch[x])

    def accepts_offset_epoch(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        return true


@bug(
    "accepts-late-commits",
    breaks="position_is_exact",
    steps=16,
    at=ALONE,
    fixed_by=FIX,
    in_force=UNRELEASED,
)
class AcceptsLateCommits(WithLateRequests):
    """The coordinator does not compare the epoch of an EndTxn request.

    A late request of a fenced instance commits the next transaction, which has no offsets yet. The
    action `commit` breaks the lemma `ends_raise_the_epoch`.
    """

    def accepts_end(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        return true


@bug(
    "accepts-old-generations",
    breaks="position_is_exact",
    steps=22,
    at={"transactional_ids": 2, "aborts": False},
    fixed_by=FIX,
    issue="KIP-447",
    in_force=UNRELEASED,
)
class AcceptsOldGenerations(WithLateRequests):
    """A TxnOffsetCommit request carries no generation.

    An offset that was sent before a rebalance arrives after another instance has processed the same
    inputs. The action `accept_offset` breaks the lemma `only_the_reader_sends_offsets`.
    """

    def accepts_generation(s, x: TransactionalId, e: ProducerEpoch, p: TopicPartition) -> Bool:
        return true


@bug(
    "commits-unacknowledged",
    breaks="position_is_exact",
    steps=9,
    at=ALONE,
    fixed_by=FIX,
    in_force=UNRELEASED,
)
class CommitsUnacknowledged(WithLateRequests):
    """A client requests the commit before all its requests are acknowledged.

    A record that arrives after the marker is refused, but the transaction commits the position
    after its input. The action `request_commit` breaks the lemma `commits_are_acknowledged`.
    """

    def is_acknowledged(s, x: TransactionalId, e: ProducerEpoch) -> Bool:
        return true


@bug(
    "lax-markers",
    breaks="position_is_exact",
    steps=16,
    at=ALONE,
    fixed_by=FIX,
    issue="KAFKA-19446",
    in_force=kafka("4.0", "4.1"),
)
class LaxMarkers(WithLateRequests):
    """Transaction version 2 up to Kafka 4.1: a partition accepts a marker whose epoch equals the
    largest epoch that the partition has seen (KIP-1228).

    A marker that arrives a second time commits or drops the content of the next transaction. The
    action `write_output_marker` breaks the claim `position_is_exact`.
    """

    def accepts_marker(s, seen: ProducerEpoch, marker: ProducerEpoch) -> Bool:
        return seen <= marker
