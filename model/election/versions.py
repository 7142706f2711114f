"""The versions of the spec `election`: Kafka 4.1, before KIP-966, before KIP-903, and KIP-966 as
written.

Before KIP-966, the only member of an ISR stays in the ISR, even if it has lost its disk. Before
KIP-903, a leader does not check the broker epoch of a fetch. The version `kip-966` has a set of
last known eligible leaders (LastKnownELR). If the ISR and the ELR are empty, the controller elects
the member of this set that has the longest log.

The version `kip-966` adds one action:

    controller   WF recover_balanced

Source: KIP-903 (3.5); KAFKA-15583 (3.7: no commit below min.insync.replicas); KIP-966.
"""

from __future__ import annotations

from model.election.actions.controller import NO_REPLICA
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
from model.releases import LATEST, kafka, unreleased
from model.variants import version


@version("kafka-4.1", in_force=kafka("4.1", LATEST), default=True)
class Election(ElectionClaims):
    """Kafka 4.1: the controller elects a member of the ISR. If the ISR is empty, it elects a member
    of the ELR. If both are empty, it elects the last known leader.
    """

    @witness
    def somebody_is_eligible(s) -> Bool:
        """Reachable: a broker is in the ELR, so it may be elected when the ISR is empty and the
        broker is alive.
        """
        return exists(s.partition_registration.elr[r] for r in Replica)


@version(
    "before-elr",
    breaks="leader_completeness",
    steps=9,
    issue="KIP-966",
    in_force=kafka("3.7", "4.0", "and later with eligible.leader.replicas.version=0"),
)
class BeforeElr(Election):
    """Kafka 3.7: the only member of the ISR stays in the ISR, and leads again after any stop.

    This breaks the claim `leader_completeness`: the only member may have stopped uncleanly and lost
    committed records (KIP-966).
    """

    def remaining_isr(s, r: Replica) -> Set[Replica]:
        alone = s.partition_registration.isr == {r}
        return ite(alone, s.partition_registration.isr, s.partition_registration.isr - {r})

    def ends_eligibility(s, isr: Set[Replica]) -> Bool:
        """Returns True always, because this version has no ELR."""
        return true

    def is_kept_as_last_known(
        s, r: Replica, isr: Set[Replica], elr: Set[Replica], leads: Bool
    ) -> Bool:
        return false


@version(
    "before-kip-903",
    breaks="leader_completeness",
    steps=8,
    issue="KAFKA-15583",
    in_force=kafka("2.8", "3.4", "as a preview before 3.3"),
)
class BeforeKip903(BeforeElr):
    """Kafka 3.4: a leader may commit alone, and does not check the broker epoch of a fetch.

    This breaks the claim `leader_completeness`: if one broker alone has committed a record, the
    record is lost with the broker's page cache. KIP-903 did not fix this loss. It fixed a loss that
    needs more steps (bug `ignores-broker-epochs`).
    """

    def is_same_registration(s, r: Replica, broker_epoch: BrokerEpoch) -> Bool:
        return true

    def may_commit(s, leader: Replica) -> Bool:
        return true


@version(
    "kip-966",
    at={"min_isr": 1},
    in_force=unreleased("KIP-966's recovery by the longest log was not released up to 4.3"),
)
class Kip966(Election):
    """KIP-966 as written: if the ISR and the ELR are empty, the controller elects the last known
    eligible leader with the longest log.

    The controller remembers a set of last known eligible leaders, and can compare their logs. So a
    record survives while fewer than min.insync.replicas brokers have lost it.
    """

    def is_tolerable(s) -> Bool:
        """Returns True while the number of brokers that have lost records is below
        min.insync.replicas. An unclean stop alone loses no records.
        """
        return s.losses < min(s.min_isr, s.replicas)

    def is_last_known_leader(s, r: Replica, alive: Set[Replica], none_eligible: Bool) -> Bool:
        """Returns False always, because only the action `recover_balanced` elects a last known
        leader.
        """
        return false

    def is_kept_as_last_known(
        s, r: Replica, isr: Set[Replica], elr: Set[Replica], leads: Bool
    ) -> Bool:
        """Returns True if the controller remembers the replica `r` as a last known eligible leader.

        The new ISR `isr` must have fewer than min.insync.replicas members. The replica must have
        left the ISR or the ELR, in this step or in an earlier one. A new leader makes no
        difference, so the argument `leads` has no effect.
        """
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
        """Returns True if the log of `a` is at least as up to date as the log of `b`, as in Raft.

        The log whose last record has the larger leader epoch is more up to date. If both leader
        epochs are equal, the longer log is more up to date.
        """
        return any_of(
            s.last_epoch(b) < s.last_epoch(a),
            all_of(
                s.last_epoch(a) == s.last_epoch(b),
                s.broker[b].end_offset <= s.broker[a].end_offset,
            ),
        )

    @action(fair="weak")
    def recover_balanced(s, r: Replica) -> None:
        """The controller elects the last known eligible leader with the longest log, because the
        ISR and the ELR are empty.

        First, all last known eligible leaders must send their log ends.

        Kafka: KIP-966, section on unclean recovery, which was not released.
        Simplified: the requests for the log ends and the election are one step.

        If the controller requests the log end only from the replica that led last, the claim
        `enough_last_known_leaders` breaks (bug `remembers-one`, 6 steps).
        """
        asked = s.partition_registration.last_known
        when(
            s.is_empty(s.partition_registration.isr),
            s.is_empty(s.partition_registration.elr),
            asked[r],
            forall(s.is_alive(x) & s.broker[x].is_up for x in asked),
            forall(s.is_as_long(r, x) for x in asked),
        )
        s.write_partition_change(r, NO_REPLICA | {r}, NO_REPLICA, NO_REPLICA)

    @invariant
    def enough_last_known_leaders(s) -> Bool:
        """If the ISR and the ELR are empty, the controller remembers at least min.insync.replicas
        last known eligible leaders.

        If fewer than min.insync.replicas brokers have lost records, at least one of these leaders
        has lost none.
        """
        return implies(
            s.is_empty(s.partition_registration.isr) & s.is_empty(s.partition_registration.elr),
            s.is_enough(s.partition_registration.last_known),
        )
