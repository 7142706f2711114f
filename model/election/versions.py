"""Elections as they were, and as a KIP has them.

Before KIP-966 the last member of an ISR stays in it, whatever has happened to its disk. Before
KIP-903 nobody asks in which life a broker has fetched.

Source: KIP-903 (3.5); KAFKA-15583 (3.7: no commit below min.insync.replicas); KIP-966, its text:
the balanced recovery asks all last known eligible leaders how far their logs go.
"""

from __future__ import annotations

from model.election.actions.controller import NOBODY
from model.election.claims import ElectionClaims
from model.election.state import BrokerEpoch, LeaderEpoch, Replica
from model.language import (
    Bool,
    Set,
    action,
    all_of,
    any_of,
    exists,
    false,
    forall,
    implies,
    invariant,
    ite,
    true,
    when,
    witness,
)
from model.variants import LATEST, kafka, unreleased, version


@version("kafka-4.1", in_force=kafka("4.1", LATEST), default=True)
class Election(ElectionClaims):
    """Kafka 4.1: eligible leaders, and the last known leader when there is none."""

    @witness
    def somebody_is_eligible(s) -> Bool:
        """A broker outside the ISR may be elected once it is back."""
        return exists(s.partition_registration.elr[r] for r in Replica)


@version(
    "before-elr",
    breaks="leader_completeness",
    steps=9,
    id="R10",
    issue="KIP-966",
    in_force=kafka("3.7", "3.9"),
)
class BeforeElr(Election):
    """Kafka 3.7: the last member of the ISR stays in it, and leads again with what it has.

    Fails leader_completeness: it has stopped uncleanly and lost what was committed (KIP-966).
    """

    def remaining_isr(s, r: Replica) -> Set[Replica]:
        alone = s.partition_registration.isr == {r}
        return ite(alone, s.partition_registration.isr, s.partition_registration.isr - {r})

    def ends_eligibility(s, isr: Set[Replica]) -> Bool:
        return true

    def is_remembered(s, r: Replica, isr: Set[Replica], elr: Set[Replica], leads: Bool) -> Bool:
        return false


@version(
    "before-kip-903",
    breaks="leader_completeness",
    steps=8,
    issue="KAFKA-15583",
    in_force=kafka(None, "3.4"),
)
class BeforeKip903(BeforeElr):
    """Kafka 3.4: a leader commits alone, and nobody asks in which life a broker has fetched.

    Fails leader_completeness: what one broker alone has committed is lost with its page cache. What
    KIP-903 mended takes more steps, and is the bug `ignores-broker-epochs`.
    """

    def is_same_life(s, r: Replica, broker_epoch: BrokerEpoch) -> Bool:
        return true

    def may_commit(s, leader: Replica) -> Bool:
        return true


@version(
    "kip-966",
    at={"min_isr": 1},
    in_force=unreleased("KIP-966's recovery by the longest log was not released up to 4.3"),
)
class Kip966(Election):
    """The text of KIP-966: all that left the ELR uncleanly are asked, and the longest log leads.

    So a record survives as long as fewer than min.insync.replicas have lost it.
    """

    def is_tolerable(s) -> Bool:
        """Fewer losses than min.insync.replicas, however many stopped uncleanly."""
        return s.losses < min(s.min_isr, s.replicas)

    def is_last_resort(s, r: Replica, alive: Set[Replica], is_nobody: Bool) -> Bool:
        return false

    def is_remembered(s, r: Replica, isr: Set[Replica], elr: Set[Replica], leads: Bool) -> Bool:
        """Whoever was eligible and is so no more, until the ISR is large enough."""
        was = any_of(
            s.partition_registration.last_known[r],
            s.partition_registration.elr[r],
            s.partition_registration.isr[r],
        )
        return all_of(~s.is_enough(isr), was, ~isr[r], ~elr[r])

    def last_epoch(s, r: Replica) -> LeaderEpoch:
        log = s.broker[r]
        return ite(
            log.end_offset == 0, LeaderEpoch(-1), s.written_in[log.record[log.end_offset - 1]]
        )

    def is_as_long(s, a: Replica, b: Replica) -> Bool:
        """The log of `a` ends in a larger leader epoch, or in the same and not before that of b."""
        return any_of(
            s.last_epoch(b) < s.last_epoch(a),
            all_of(
                s.last_epoch(a) == s.last_epoch(b),
                s.broker[b].end_offset <= s.broker[a].end_offset,
            ),
        )

    @action(fair="weak")
    def recover_balanced(s, r: Replica) -> None:
        """With nobody eligible, all last known answer, and the longest log leads."""
        asked = s.partition_registration.last_known
        when(
            s.is_nobody(s.partition_registration.isr),
            s.is_nobody(s.partition_registration.elr),
            asked[r],
            forall(s.is_alive(x) & s.broker[x].is_up for x in asked),
            forall(s.is_as_long(r, x) for x in asked),
        )
        s.decide(r, NOBODY | {r}, NOBODY, NOBODY)

    @invariant
    def enough_are_asked(s) -> Bool:
        """With nobody eligible, min.insync.replicas are remembered: one of them lost nothing."""
        return implies(
            s.is_nobody(s.partition_registration.isr) & s.is_nobody(s.partition_registration.elr),
            s.is_enough(s.partition_registration.last_known),
        )
