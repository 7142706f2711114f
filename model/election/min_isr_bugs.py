"""Bugs that need a change of min.insync.replicas: two are rules of Kafka, and three are proposed
fixes that are not enough.

Source: KIP-966; ConfigurationControlManager, ReplicationControlManager and Partition of Kafka 4.3.
"""

from __future__ import annotations

from model.election.changed_min_isr import ChangedMinIsr, MinIsr
from model.election.state import Replica
from model.language import Bool, Set, false, true
from model.releases import LATEST, UNRELEASED, kafka
from model.variants import bug


@bug(
    "clears-elr",
    breaks="somebody_leads",
    steps=7,
    at={"max_changes": 1},
    fixed_by="changed-min-isr",
    in_force=kafka("4.0", LATEST, "reproduced on real brokers of 4.3"),
)
class ClearsElr(ChangedMinIsr):
    """A change of min.insync.replicas clears the ELR even if the ISR is empty.

    No broker is then eligible, although all brokers return with every record. The partition never
    has a leader again.

    Kafka: ReplicationControlManager.removeTopicElrs.
    """

    def clears_elr(s) -> Bool:
        return true


@bug(
    "clears-elr-of-small-isr",
    breaks="leader_completeness",
    steps=10,
    at={
        "other_min_isr": 3,
        "max_changes": 1,
        "max_unclean": 1,
        "max_losses": 1,
        "max_disruptions": 1,
    },
    fixed_by="changed-min-isr",
    in_force=UNRELEASED,
)
class ClearsElrOfSmallIsr(ChangedMinIsr):
    """A change of min.insync.replicas clears the ELR unless the ISR is empty.

    The ISR has one member, which is too small before and after the change. This member loses its
    disk. It is elected as the last known leader, although a replica that was in the ELR has every
    record.
    """

    def clears_elr(s) -> Bool:
        return ~s.is_empty(s.partition_registration.isr)


@bug(
    "answers-without-min-isr",
    breaks="leader_completeness",
    steps=7,
    at={"min_isr": 1, "other_min_isr": 2, "max_changes": 1},
    fixed_by="changed-min-isr",
    in_force=kafka("4.0", LATEST, "reproduced on real brokers of 4.3"),
)
class AnswersWithoutMinIsr(ChangedMinIsr):
    """The response to AlterPartition does not contain min.insync.replicas.

    The operator raises the setting. The controller removes a replica from the ISR and adds it to
    the ELR, because the ISR is now too small to commit records. The leader learns the ISR from the
    response, commits a record alone by the old value of the setting, and stops. The controller
    elects the replica, which lacks the record.
    """

    def setting_with_answer(s, leader: Replica) -> MinIsr:
        return s.known_minimum[leader]


@bug(
    "never-clears-elr",
    breaks="leader_completeness",
    steps=7,
    at={"max_changes": 1},
    fixed_by="changed-min-isr",
    in_force=UNRELEASED,
)
class NeverClearsElr(ChangedMinIsr):
    """A change of min.insync.replicas never clears the ELR.

    The operator lowers the setting, so the only member of the ISR commits records alone. The
    replicas in the ELR lack these records. When the only member stops, the controller elects a
    replica of the ELR.
    """

    def clears_elr(s) -> Bool:
        return false

    def may_stay_eligible(s, isr: Set[Replica]) -> Bool:
        return true


@bug(
    "keeps-elr-at-election",
    breaks="candidate_completeness",
    steps=7,
    at={"max_changes": 1},
    fixed_by="changed-min-isr",
    in_force=UNRELEASED,
)
class KeepsElrAtElection(ChangedMinIsr):
    """A change of min.insync.replicas does not clear the ELR while the ISR is empty, and the ELR
    also stays when one of its members is elected.

    The operator lowered the setting while the partition had no leader. The new leader commits a
    record alone, and a replica that stayed in the ELR lacks the record. If the constant
    `max_disruptions` is 3, the controller elects this replica, which also breaks the claim
    `leader_completeness`.
    """

    def may_stay_eligible(s, isr: Set[Replica]) -> Bool:
        return true
