"""Bugs of the spec `pipeline-abstract`. Each class changes the spec so that a claim no longer
holds.

Some of them are bugs of applications or of client libraries that use Kafka's transactions
incorrectly.
"""

from __future__ import annotations

from model.language import Bool, action, ite, nothing, true
from model.pipeline_abstract.state import Instance, Offset, TopicPartition, TransactionalId
from model.pipeline_abstract.versions import IdPerPartition, Pipeline
from model.releases import LATEST, UNRELEASED, InForce, kafka
from model.variants import bug

ONE_ID = "one transactional id for each process"


# ---- what fences an instance


@bug(
    "forgets-generation",
    breaks="each_input_at_most_once",
    steps=16,
    issue="KIP-447",
    in_force=kafka("0.11", "2.4", needs=ONE_ID),
)
class ForgetsGeneration(Pipeline):
    """Before KIP-447: an offset in a transaction carries no generation, so the group coordinator
    accepts the offset of a zombie.

    The zombie commits although another instance has committed the same inputs. The action
    `send_offset` breaks the lemma `pending_offsets_match_effects`.
    """

    def accepts_offset(s, i: Instance, p: TopicPartition) -> Bool:
        return true


@bug(
    "returns-unstable",
    breaks="each_input_at_most_once",
    steps=13,
    issue="KIP-447",
    in_force=kafka("0.11", "2.4", needs=ONE_ID),
)
class ReturnsUnstable(Pipeline):
    """Before KIP-447: OffsetFetch returns the committed offset, even while a later offset is
    pending.

    The new owner of a partition processes the inputs of a transaction that the old owner commits
    later. The action `fetch_offset` breaks the lemma `only_the_reader_sends_offsets`.
    """

    def may_fetch(s, i: Instance, p: TopicPartition) -> Bool:
        return true


@bug("inherits-transaction", breaks="each_input_at_most_once", steps=10, in_force=UNRELEASED)
class InheritsTransaction(Pipeline):
    """An instance that initializes a transactional id inherits the open transaction of this id.

    When the instance commits, it also commits the output records of the previous instance. The
    action `init_transactions` breaks the lemma `written_is_below_position`.
    """

    def may_hand_over(s, x: TransactionalId) -> Bool:
        return ~s.is_decided(x)


@bug("ignores-epoch", breaks="each_input_at_most_once", steps=13, in_force=UNRELEASED)
class IgnoresEpoch(Pipeline):
    """Producer epochs are not compared, so a zombie writes in the transaction of the instance that
    replaced it.

    Both instances use one transactional id. The action `process` breaks the lemma
    `written_is_below_position`.
    """

    def is_newest(s, i: Instance, x: TransactionalId) -> Bool:
        return true


# ---- what an application must do


@bug("commits-outside", breaks="position_is_exact", steps=5, in_force=UNRELEASED)
class CommitsOutside(Pipeline):
    """The application commits its position with the consumer, outside of the transaction.

    If the transaction aborts, the application never processes the inputs again, so they are lost.
    The action `send_offset` breaks the claim `position_is_exact`.
    """

    @action
    def send_offset(s, i: Instance, x: TransactionalId, p: TopicPartition) -> None:
        """An instance sends its position, which becomes the committed offset immediately."""
        super().send_offset(i, x, p)
        s.committed_offset[p] = s.position[i][p]


@bug(
    "commits-without-offsets",
    breaks="each_input_at_most_once",
    steps=11,
    issue="alpakka-kafka#752",
    in_force=InForce(of="Alpakka Kafka"),
)
class CommitsWithoutOffsets(Pipeline):
    """A transaction commits output records, but not the position after their inputs.

    The next owner of the partition processes the inputs again. The claim `position_is_exact` breaks
    at the action `commit`. The library Alpakka Kafka added offsets to a transaction only in the
    callbacks of its sends (alpakka-kafka#752).
    """

    def has_sent_offsets(s, x: TransactionalId) -> Bool:
        return true


@bug(
    "reads-on-after-abort",
    breaks="position_is_exact",
    steps=10,
    issue="franz-go#1222",
    in_force=InForce(of="franz-go"),
)
class ReadsOnAfterAbort(Pipeline):
    """After an abort, an instance does not reset its position, so it never reads the transaction's
    inputs again.

    The next commit moves the committed position past these inputs. The action `abort` breaks the
    lemma `readers_skip_nothing`. In the client franz-go, fetched records stayed in a buffer after
    an abort (franz-go#1222).
    """

    def reads_on(s, i: Instance) -> Bool:
        return true


@bug(
    "learns-in-transaction",
    breaks="each_input_at_most_once",
    steps=12,
    in_force=UNRELEASED,
)
class LearnsInTransaction(Pipeline):
    """An instance learns a new generation while its transaction is open, and commits the
    transaction later.

    The offset of the instance carries the new generation, so the group coordinator accepts it. But
    another instance may have processed the same inputs in the meantime. The action
    `learn_generation` breaks the lemma `written_is_below_position`.
    """

    def may_learn(s, i: Instance) -> Bool:
        return true


@bug("reads-uncommitted", breaks="each_input_at_most_once", steps=11, in_force=UNRELEASED)
class ReadsUncommitted(Pipeline):
    """The reader of the output reads at read_uncommitted, so it also receives the output records of
    aborted transactions.

    The claim `position_is_exact` breaks at the action `write_output_marker`.
    """

    def delivers(s, x: TransactionalId) -> Bool:
        return true


# ---- markers


@bug(
    "skips-marker",
    breaks="each_input_at_most_once",
    steps=16,
    issue="KAFKA-20734",
    in_force=kafka("4.3", LATEST),
)
class SkipsMarker(Pipeline):
    """The coordinator completes a transaction although the group coordinator does not have the
    transaction's marker (KAFKA-20734).

    Kafka 4.3.0 completes such a transaction if a partition of `__consumer_offsets` has no leader.
    If the next transaction of the transactional id aborts, the marker of this abort drops the
    committed position, and the inputs are processed again. The claim `position_is_exact` breaks at
    the action `complete`.
    """

    def may_complete(s, x: TransactionalId) -> Bool:
        return s.output_marked[x]


@bug("counts-aborted", breaks="position_is_exact", steps=7, in_force=UNRELEASED)
class CountsAborted(Pipeline):
    """Each marker commits the pending offsets of its transaction, even if the marker is an ABORT.

    No instance processes the inputs of the aborted transaction again. The claim `position_is_exact`
    breaks at the action `write_offset_marker`.
    """

    def counts(s, x: TransactionalId) -> Bool:
        return true


# ---- before KIP-447


@bug(
    "fetches-before-init",
    breaks="each_input_at_most_once",
    steps=14,
    fixed_by="id-per-partition",
    in_force=UNRELEASED,
)
class FetchesBeforeInit(IdPerPartition):
    """An instance fetches the committed offset before it initializes the partition's transactional
    id.

    The previous owner may commit between these two steps. The action `fetch_offset` breaks the
    lemma `readers_use_the_id`.
    """

    def may_fetch(s, i: Instance, p: TopicPartition) -> Bool:
        return (s.uses[i] == nothing) | super().may_fetch(i, p)

    def begin_with(s, i: Instance) -> None:
        for p in TopicPartition:
            s.reads[i][p] = s.reads[i][p] & (s.uses[i] == nothing)
            s.position[i][p] = ite(s.uses[i] == nothing, s.position[i][p], Offset.least())


@bug(
    "keeps-producer",
    breaks="each_input_at_most_once",
    steps=18,
    fixed_by="id-per-partition",
    in_force=UNRELEASED,
)
class KeepsProducer(IdPerPartition):
    """In a rebalance, an instance does not create a new producer: it does not initialize its
    transactional id again.

    Suppose that the instance loses a partition and gets the same partition again. It may then fetch
    the committed offset before the group coordinator has the marker of its previous transaction.
    The action `fetch_offset` breaks the lemma `only_the_reader_sends_offsets`.
    """

    def may_fetch(s, i: Instance, p: TopicPartition) -> Bool:
        return s.is_current(i, p)
