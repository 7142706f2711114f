"""Bugs of a changed min.insync.replicas. Each class is the version `changed-min-isr` without one of
its rules.

Source: KIP-966; ConfigurationControlManager, ReplicationControlManager and Partition of Kafka 4.3.
"""

from __future__ import annotations

from typing import Final

from model.language import Bool, Set, exists, false, true
from model.reassignment_abstract.changed_min_isr import ChangedMinIsr, MinIsr
from model.reassignment_abstract.state import LeaderEpoch, Replica
from model.releases import LATEST, UNRELEASED, kafka
from model.variants import Constants, bug

ONLY_MIN_ISR: Final[Constants] = {"stops_uncleanly": False, "reassigns": False}


@bug(
    "clears-elr",
    breaks="an_eligible_replica_remains",
    steps=4,
    at=ONLY_MIN_ISR,
    fixed_by="changed-min-isr",
    in_force=kafka("4.0", LATEST, "reproduced on real brokers of 4.3"),
)
class ClearsElr(ChangedMinIsr):
    """A change of min.insync.replicas empties the ELR even if the ISR has too few members to
    commit records.

    If the ISR is empty, no broker is eligible, although every replica has every record. The action
    `change_min_isr` breaks the claim `enough_members_remain`.

    Kafka: ReplicationControlManager.removeTopicElrs.
    """

    def clears_elr(s, new: MinIsr) -> Bool:
        return true


@bug(
    "clears-elr-of-small-isr",
    breaks="enough_members_remain",
    steps=2,
    at={**ONLY_MIN_ISR, "min_isr": 3},
    fixed_by="changed-min-isr",
    in_force=UNRELEASED,
)
class ClearsElrOfSmallIsr(ChangedMinIsr):
    """A change of min.insync.replicas empties the ELR unless the ISR is empty.

    The ISR may have fewer members than min.insync.replicas, before and after the change. If these
    members stop uncleanly, no eligible replica remains. The action `change_min_isr` breaks the
    claim `enough_members_remain`.
    """

    def clears_elr(s, new: MinIsr) -> Bool:
        return exists(s.isr[s.newest][r] for r in Replica)


@bug(
    "never-clears-elr",
    breaks="eligible_replicas_have_committed_records",
    steps=5,
    at=ONLY_MIN_ISR,
    fixed_by="changed-min-isr",
    in_force=UNRELEASED,
)
class NeverClearsElr(ChangedMinIsr):
    """A change of min.insync.replicas never empties the ELR.

    The operator lowers the value, so the only member of the ISR commits records that the ELR
    lacks. The action `change_min_isr` breaks the lemma `a_large_isr_has_no_elr`.
    """

    def clears_elr(s, new: MinIsr) -> Bool:
        return false


@bug(
    "keeps-elr-at-election",
    breaks="eligible_replicas_have_committed_records",
    steps=8,
    at={**ONLY_MIN_ISR, "leader_epochs": 3, "responds": False},
    fixed_by="changed-min-isr",
    in_force=UNRELEASED,
)
class KeepsElrAtElection(ChangedMinIsr):
    """When a member of the ELR is elected and may commit alone, the other members stay in the ELR.

    The operator lowered min.insync.replicas while the ISR was empty. The new leader commits records
    that the ELR lacks. The action `elect_eligible` breaks the lemma `a_large_isr_has_no_elr`.
    """

    def ends_with_election(s, alone: Set[Replica]) -> Bool:
        return false


@bug(
    "answers-without-min-isr",
    breaks="eligible_replicas_have_committed_records",
    steps=6,
    at=ONLY_MIN_ISR,
    fixed_by="changed-min-isr",
    in_force=kafka("4.0", LATEST, "reproduced on real brokers of 4.3"),
)
class AnswersWithoutMinIsr(ChangedMinIsr):
    """The response to AlterPartition does not contain min.insync.replicas.

    The operator raises the value, and the controller removes a replica from the ISR and adds it to
    the ELR. The leader learns the ISR from the response, and commits a record alone by the old
    value. The action `receive_response` breaks the lemma
    `a_leader_that_commits_waits_for_every_member`.
    """

    def minimum_with_response(s, e: LeaderEpoch) -> MinIsr:
        return s.known_minimum[e]
