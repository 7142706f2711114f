"""Bugs of the abstract idempotent producer: each class replaces one rule, and a claim fails."""

from __future__ import annotations

from model.idempotence_abstract.state import Offset, Producer, ProducerEpoch, Sequence
from model.idempotence_abstract.versions import IdempotentProducer
from model.language.expressions import Bool, all_of
from model.variants import LATEST, UNRELEASED, bug, kafka


@bug("any-sequence", breaks="in_order_without_duplicates", steps=2, in_force=UNRELEASED)
class AnySequence(IdempotentProducer):
    """The leader does not compare sequences, so it appends a retry again.

    Kafka does so for a producer whose state has expired (KAFKA-15591). Fails
    in_order_without_duplicates at append_next; with three sequences, without_gaps too.
    """

    def continues(s, sequence: Sequence, latest: Offset) -> Bool:
        return all_of()


@bug("any-epoch", breaks="epochs_do_not_go_back", steps=2, in_force=UNRELEASED)
class AnyEpoch(IdempotentProducer):
    """The leader fences no epoch: an old instance starts again after the new one has written.

    Fails epochs_do_not_go_back and in_order_without_duplicates, at append_first.
    """

    def begins_epoch(s, producer: Producer, new_epoch: ProducerEpoch) -> Bool:
        return all_of()


@bug(
    "unclean-election",
    breaks="acknowledged_is_durable",
    steps=5,
    in_force=kafka(None, LATEST, "with unclean.leader.election.enable=true"),
)
class UncleanElection(IdempotentProducer):
    """A replica outside the ISR leads: records that it lacks are lost, acknowledged or not.

    Fails committed_is_written at change_leader, and then acknowledged_is_durable when the log has
    grown over the lost records.
    """

    def may_lead_with(s, end: Offset) -> Bool:
        return all_of()
