"""The abstract idempotent producer with batches, clients that number their batches, and restarts.

A client gives each batch a number, which consists of the producer, its present epoch, and a
sequence. A leader has a *window*: the records whose retries it detects as duplicates. If the leader
refuses a batch that is not in its window, the client moves to a larger producer epoch. It then
gives its unanswered batches new numbers. So a batch that was appended must stay in the window as
long as the client may send the batch again.

A leader that restarts reads its window from a snapshot. In Kafka, the snapshot contains only the
newest batch of each producer (the version `snapshot-keeps-newest`).

No batch is in the log twice, for the following reason. A batch gets a new number only after a
refusal. A refused batch is not in the window, and so not in the log, because the window has every
record of the log. The log has no gaps, so it has no later batch of the same epoch either.

The spec has the actions of this table and the actions of the module `actions`. No action is fair.

    client       send, refuse, renumber
    leader       restart

Source: KIP-98; KIP-360; ProducerStateManager; TransactionManager of Apache Kafka's client.
Simplified: a batch that waits for a new number does not arrive under its old number. The window has
every record of the log. Kafka's window has five batches of each producer, and a client has at most
five batches in flight. A client does not give up a batch.
"""

from __future__ import annotations

from typing import Annotated

from model.idempotence_abstract.claims import AbstractIdempotenceClaims
from model.idempotence_abstract.state import Offset, Producer, ProducerEpoch, Sequence
from model.language import (
    Bool,
    Map,
    Scope,
    Set,
    Sort,
    action,
    all_of,
    exists,
    forall,
    implies,
    invariant,
    lemma,
    true,
    when,
    witness,
)


class Batch(Sort):
    """A batch that the application gives to the client."""


class RestartsState(AbstractIdempotenceClaims):
    """The variables of the clients, and the leader's window: the records whose retries the leader
    detects as duplicates.

    The log is inherited from the version `kip-360`, with the claims about the log and the lemma
    that the proof of these claims needs.
    """

    producers: Annotated[int, range(1, 10)] = 1
    batches: Annotated[int, range(1, 10)] = 2

    current_epoch: Map[Producer, ProducerEpoch]  # the client's present epoch
    is_sent: Set[Batch]
    is_number: Map[Producer, Map[ProducerEpoch, Map[Sequence, Bool]]]  # a batch has or had it
    is_replaced: Map[Producer, Map[ProducerEpoch, Map[Sequence, Bool]]]  # the batch has a new one
    batch: Map[Producer, Map[ProducerEpoch, Map[Sequence, Batch]]]  # the batch with this number
    is_in_window: Set[Offset]

    def scope(s) -> Scope:
        return {**super().scope(), Batch: s.batches}

    def has(s, o: Offset, p: Producer, e: ProducerEpoch, q: Sequence) -> Bool:
        stamp = s.stamp[o]
        return all_of(
            o < s.end_offset, stamp.producer == p, stamp.producer_epoch == e, stamp.sequence == q
        )

    def is_open(s, p: Producer, e: ProducerEpoch, q: Sequence) -> Bool:
        """Returns True if a client waits for the answer to the batch of producer `p` that has the
        producer epoch `e` and the sequence number `q`.
        """
        return s.is_number[p][e][q] & ~s.is_replaced[p][e][q] & ~s.acked[p][e][q]

    def arrives(s, p: Producer, e: ProducerEpoch, q: Sequence) -> Bool:
        """Returns True if the producer `p` has a batch with the producer epoch `e` and the sequence
        number `q`, and `e` is the producer's present epoch. Only such a batch may arrive at the
        leader.
        """
        return s.is_number[p][e][q] & (s.current_epoch[p] == e)


class RestartsActions(RestartsState):
    # ---- the client

    @action
    def send(s, batch: Batch, producer: Producer, sequence: Sequence) -> None:
        """The client sends a batch with an unused sequence number of the producer's present epoch.

        Kafka: Sender.sendProducerData.
        Simplified: the client may choose any unused sequence, so the sequences may have gaps.

        Without the guard that the batch is not sent yet, the claim `at_most_once` breaks in 4
        steps.
        """
        producer_epoch = s.current_epoch[producer]
        when(~s.is_sent[batch], ~s.is_number[producer][producer_epoch][sequence])
        s.is_sent[batch] = True
        s.is_number[producer][producer_epoch][sequence] = True
        s.batch[producer][producer_epoch][sequence] = batch

    def is_lowest(s, producer: Producer, sequence: Sequence) -> Bool:
        """Returns True if the client has an answer to every batch of its present epoch whose
        sequence number is below `sequence`.

        Without this guard of `refuse`, a batch in the log gets a new number and is appended a
        second time. The claim `at_most_once` breaks in 6 steps.
        """
        producer_epoch = s.current_epoch[producer]
        return forall(
            implies(q < sequence, ~s.is_open(producer, producer_epoch, q)) for q in Sequence
        )

    @action
    def refuse(s, producer: Producer, sequence: Sequence, larger: ProducerEpoch) -> None:
        """The leader refuses the lowest unanswered batch as out of order, and the client moves to a
        larger epoch.

        Kafka: ProducerAppendInfo.checkSequence; TransactionManager.canRetry.
        Simplified: the leader may refuse each batch that is not in its window (the records whose
        retries it detects as duplicates).

        Without the guard that the batch is not in the window, the claim `at_most_once` breaks in 5
        steps.
        """
        producer_epoch = s.current_epoch[producer]
        when(
            s.is_open(producer, producer_epoch, sequence),
            s.is_lowest(producer, sequence),
            forall(
                implies(s.is_in_window[o], ~s.has(o, producer, producer_epoch, sequence))
                for o in Offset
            ),
            producer_epoch < larger,
        )
        s.current_epoch[producer] = larger

    @action
    def renumber(
        s, producer: Producer, older: ProducerEpoch, sequence: Sequence, new_sequence: Sequence
    ) -> None:
        """The client gives an unanswered batch of an older epoch a sequence number of the present
        epoch.

        Kafka: TransactionManager.bumpIdempotentProducerEpoch.
        Simplified: each step gives one batch its new number, in any order.

        Without the guard that the batch's epoch is older, the claim `at_most_once` breaks in 4
        steps.
        """
        producer_epoch = s.current_epoch[producer]
        when(
            older < producer_epoch,
            s.is_open(producer, older, sequence),
            ~s.is_number[producer][producer_epoch][new_sequence],
        )
        s.is_replaced[producer][older][sequence] = True
        s.is_number[producer][producer_epoch][new_sequence] = True
        s.batch[producer][producer_epoch][new_sequence] = s.batch[producer][older][sequence]

    # ---- the leader

    @action
    def append_first(s, producer: Producer, new_epoch: ProducerEpoch, end: Offset) -> None:
        """The leader appends the first batch of a producer epoch.

        The leader adds the batch to its window, so that it detects a retry of the batch as a
        duplicate.

        Kafka: ProducerStateEntry.addBatch, after a new producer epoch.

        Without the guard `arrives`, the claim `at_most_once` breaks in 2 steps.
        """
        when(s.arrives(producer, new_epoch, Sequence.least()))
        s.is_in_window[s.end_offset] = True
        super().append_first(producer, new_epoch, end)

    @action
    def append_next(s, producer: Producer, sequence: Sequence, latest: Offset, end: Offset) -> None:
        """The leader appends the next batch of a producer epoch.

        The leader adds the batch to its window, so that it detects a retry of the batch as a
        duplicate.

        Kafka: ProducerStateEntry.addBatch.

        Without the guard that `latest` is the offset of the producer's last batch, the claim
        `without_gaps` breaks in 2 steps.
        """
        when(s.arrives(producer, s.stamp[latest].producer_epoch, sequence))
        s.is_in_window[s.end_offset] = True
        super().append_next(producer, sequence, latest, end)

    def is_restored(s, offset: Offset, end: Offset) -> Bool:
        """Returns True always, because a restarted leader remembers every record of its log. So it
        detects retries of the record at `offset` as duplicates.

        If only the newest record of each producer is restored, the claim `at_most_once` breaks
        (version `snapshot-keeps-newest`, 8 steps).
        """
        return true

    @action
    def restart(s, end: Offset) -> None:
        """The leader restarts with a log that ends at `end`, and leads again.

        Kafka: LogLoader.load.
        Simplified: the log has every committed record.

        Without the guard that the log keeps every committed record, the claim
        `acknowledged_is_durable` breaks in 8 steps.
        """
        when(s.may_lead_with(end), end <= s.end_offset)
        for o in Offset:
            s.is_in_window[o] = all_of(s.is_in_window[o], o < end, s.is_restored(o, end))
        s.end_offset = end


class RestartsClaims(RestartsActions):
    @invariant
    def at_most_once(s) -> Bool:
        """No batch is in the log twice. In this spec, each record of the log is a whole batch."""
        return forall(
            implies(
                all_of(s.has(a, p, e, q), s.has(b, r, f, t), a < b),
                s.batch[p][e][q] != s.batch[r][f][t],
            )
            for a in Offset
            for b in Offset
            for p in Producer
            for r in Producer
            for e in ProducerEpoch
            for f in ProducerEpoch
            for q in Sequence
            for t in Sequence
        )

    # ---- witnesses

    @witness
    def a_batch_with_a_new_number_is_appended(s) -> Bool:
        """Reachable: a batch that was refused got a new sequence number, and the batch is in the
        log under this number.
        """
        return exists(
            all_of(
                s.is_replaced[p][e][q],
                s.has(o, p, f, t),
                s.batch[p][e][q] == s.batch[p][f][t],
            )
            for o in Offset
            for p in Producer
            for e in ProducerEpoch
            for f in ProducerEpoch
            for q in Sequence
            for t in Sequence
        )

    # ---- lemmas

    @lemma
    def the_window_has_the_log(s) -> Bool:
        """Every record of the leader's log is in the leader's window (the records whose retries the
        leader detects as duplicates).

        The lemma is true because a leader that appends a record also adds it to the window, and
        because a restart keeps the records of the log in the window.
        """
        return forall(implies(o < s.end_offset, s.is_in_window[o]) for o in Offset)

    @lemma
    def no_number_is_of_a_later_epoch(s) -> Bool:
        """No batch has a producer epoch that is larger than the client's present epoch."""
        return forall(
            implies(s.is_number[p][e][q], e <= s.current_epoch[p])
            for p in Producer
            for e in ProducerEpoch
            for q in Sequence
        )

    @lemma
    def records_have_numbers(s) -> Bool:
        """Each record carries a producer, an epoch and a sequence that a client gave to a batch."""
        return forall(
            implies(s.has(o, p, e, q), s.is_number[p][e][q])
            for o in Offset
            for p in Producer
            for e in ProducerEpoch
            for q in Sequence
        )

    @lemma
    def numbered_batches_were_sent(s) -> Bool:
        """Every batch with a sequence number was sent."""
        return forall(
            implies(s.is_number[p][e][q], s.is_sent[s.batch[p][e][q]])
            for p in Producer
            for e in ProducerEpoch
            for q in Sequence
        )

    @lemma
    def a_batch_has_one_number(s) -> Bool:
        """A batch has at most one current number, which consists of a producer, a producer epoch
        and a sequence.

        When a client gives a batch a new number, the old number is no longer current.
        """
        return forall(
            implies(
                all_of(
                    s.is_number[p][e][q],
                    ~s.is_replaced[p][e][q],
                    s.is_number[r][f][t],
                    ~s.is_replaced[r][f][t],
                    s.batch[p][e][q] == s.batch[r][f][t],
                ),
                all_of(p == r, e == f, q == t),
            )
            for p in Producer
            for r in Producer
            for e in ProducerEpoch
            for f in ProducerEpoch
            for q in Sequence
            for t in Sequence
        )

    @lemma
    def a_replaced_number_is_old(s) -> Bool:
        """If a batch has got a new number, its old number has an epoch below the client's present
        epoch, and no batch was acknowledged under the old number.

        A number consists of a producer, a producer epoch and a sequence.
        """
        return forall(
            implies(
                s.is_replaced[p][e][q],
                all_of(s.is_number[p][e][q], ~s.acked[p][e][q], e < s.current_epoch[p]),
            )
            for p in Producer
            for e in ProducerEpoch
            for q in Sequence
        )

    @lemma
    def lower_sequences_are_there(s) -> Bool:
        """For each record and each lower sequence, the log has an earlier record of the same
        producer epoch with this sequence.
        """
        return forall(
            implies(
                s.has(b, p, e, q) & (lower < q),
                exists((a < b) & s.has(a, p, e, lower) for a in Offset),
            )
            for b in Offset
            for p in Producer
            for e in ProducerEpoch
            for q in Sequence
            for lower in Sequence
        )

    @lemma
    def unanswered_batches_of_older_epochs_are_not_there(s) -> Bool:
        """The log has no unanswered batch of an epoch before the client's present epoch.

        The lemma is true because the client moves to a larger epoch only if its lowest unanswered
        batch is not in the log. No later batch of the old epoch is in the log then, because the log
        has no gaps.
        """
        return forall(
            implies(
                s.has(o, p, e, q) & (e < s.current_epoch[p]),
                s.acked[p][e][q],
            )
            for o in Offset
            for p in Producer
            for e in ProducerEpoch
            for q in Sequence
        )
