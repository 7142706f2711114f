"""Bugs of an idempotent producer's broker: each replaces one rule, and says what catches it."""

from __future__ import annotations

from model.idempotence_abstract.state import Offset, Producer, ProducerEpoch, Sequence
from model.idempotence_abstract.versions import IdempotentProducer
from model.language.expressions import Bool, all_of
from model.variants import LATEST, UNRELEASED, bug, kafka


@bug("any-sequence", breaks="in_order_without_duplicates", steps=2, in_force=UNRELEASED)
class AnySequence(IdempotentProducer):
    """The leader knows the producer and not what it wrote last, so a retry is appended again.

    So it is for a producer whose state has expired (KAFKA-15591). Fails in_order_without_duplicates
    at append_next; with three sequences, without_gaps too.
    """

    def continues(s, sequence: Sequence, latest: Offset) -> Bool:
        return all_of()


@bug("any-epoch", breaks="epochs_do_not_go_back", steps=2, in_force=UNRELEASED)
class AnyEpoch(IdempotentProducer):
    """The leader fences nobody: an old instance starts again where the new one has written.

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
    """A replica outside the in-sync set leads: what it lacks is lost, acknowledged or not.

    Fails committed_is_written at change_leader, hence acknowledged_is_durable once the log has
    grown over what was lost.
    """

    def may_lead_with(s, end: Offset) -> Bool:
        return all_of()
