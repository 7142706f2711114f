"""Bugs of the abstract idempotent producer. Each class changes a rule of the spec, so that a claim
breaks. The decorator of the class names the claim.
"""

from __future__ import annotations

from model.idempotence_abstract.state import Offset, Producer, ProducerEpoch, Sequence
from model.idempotence_abstract.versions import IdempotentProducer
from model.language.expressions import Bool, all_of
from model.releases import LATEST, UNRELEASED, kafka
from model.variants import bug


@bug("any-sequence", breaks="in_order_without_duplicates", steps=2, in_force=UNRELEASED)
class AnySequence(IdempotentProducer):
    """The leader does not compare sequences, so it appends the retry of a record a second time.

    Kafka does this for a producer whose state has expired (KAFKA-15591). The action `append_next`
    breaks the claim `in_order_without_duplicates`. With three sequences, this bug also breaks the
    claim `without_gaps`.
    """

    def continues(s, sequence: Sequence, latest: Offset) -> Bool:
        return all_of()


@bug("any-epoch", breaks="epochs_do_not_go_back", steps=2, in_force=UNRELEASED)
class AnyEpoch(IdempotentProducer):
    """The leader does not refuse old producer epochs, so an old instance of a producer may write
    after a newer instance has written.

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
    """A replica outside the ISR becomes leader. The records that this replica lacks are lost, even
    if they were acknowledged.

    The action `change_leader` breaks the lemma `committed_is_written`. When other records have the
    offsets of the lost records, the claim `acknowledged_is_durable` breaks.
    """

    def may_lead_with(s, end: Offset) -> Bool:
        return all_of()
