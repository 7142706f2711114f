"""Bugs of the abstract idempotent producer: each class changes the spec so that a claim breaks,
which its decorator names.
"""

from __future__ import annotations

from model.idempotence_abstract.state import Offset, Producer, ProducerEpoch, Sequence
from model.idempotence_abstract.versions import IdempotentProducer
from model.language.expressions import Bool, all_of
from model.releases import LATEST, UNRELEASED, kafka
from model.variants import bug


@bug("any-sequence", breaks="in_order_without_duplicates", steps=2, in_force=UNRELEASED)
class AnySequence(IdempotentProducer):
    """The leader does not compare sequences, so it appends a retry again.

    Kafka does this for a producer whose state has expired (KAFKA-15591). The action `append_next`
    breaks the claim `in_order_without_duplicates`; with three sequences, this bug also breaks the
    claim `without_gaps`.
    """

    def continues(s, sequence: Sequence, latest: Offset) -> Bool:
        return all_of()


@bug("any-epoch", breaks="epochs_do_not_go_back", steps=2, in_force=UNRELEASED)
class AnyEpoch(IdempotentProducer):
    """The leader fences no epoch, so an old instance may write after a newer one has written.

    The action `append_first` breaks the claims `epochs_do_not_go_back` and
    `in_order_without_duplicates`.
    """

    def begins_epoch(s, producer: Producer, new_epoch: ProducerEpoch) -> Bool:
        return all_of()


@bug(
    "unclean-election",
    breaks="acknowledged_is_durable",
    steps=5,
    in_force=kafka(None, LATEST, needs="unclean.leader.election.enable=true"),
)
class UncleanElection(IdempotentProducer):
    """A replica outside the ISR becomes leader; the records that it lacks are lost, even
    acknowledged ones.

    The action `change_leader` breaks the lemma `committed_is_written`. When other records have the
    offsets of the lost records, the claim `acknowledged_is_durable` breaks.
    """

    def may_lead_with(s, end: Offset) -> Bool:
        return all_of()
