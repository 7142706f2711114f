"""Bugs of a changed min.insync.replicas: Kafka's own rules, and two rules that look like fixes.

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
    """A change of min.insync.replicas clears the ELR also while the ISR is empty.

    Then no broker is eligible, although all return with every record, and nobody ever leads again.
    Kafka: ReplicationControlManager.removeTopicElrs.
    """

    def clears_elr(s) -> Bool:
        return true


@bug(
    "answers-without-min-isr",
    breaks="leader_completeness",
    steps=7,
    at={"min_isr": 1, "other_min_isr": 2, "max_changes": 1},
    fixed_by="changed-min-isr",
    in_force=kafka("4.0", LATEST, "reproduced on real brokers of 4.3"),
)
class AnswersWithoutMinIsr(ChangedMinIsr):
    """The answer to AlterPartition does not carry min.insync.replicas.

    The setting is raised. The controller removes a replica from the ISR, and adds it to the ELR,
    because the ISR is now too small to commit. The leader learns the ISR by the answer, commits
    alone by the old setting, and stops. The replica is elected without the record.
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
    """A change of min.insync.replicas keeps the ELR.

    The setting is lowered, so the last member of the ISR commits alone, without the replicas of the
    ELR. When this member stops, one of them is elected.
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
    """The ELR is kept while the ISR is empty, and also when one of its members is elected.

    The setting was lowered while the partition had no leader. The new leader commits alone, and a
    replica that stayed in the ELR lacks the record. With three disruptions, this replica is
    elected, which also breaks the claim `leader_completeness`.
    """

    def may_stay_eligible(s, isr: Set[Replica]) -> Bool:
        return true
