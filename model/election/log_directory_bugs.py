"""Bugs that need a broker with several log directories. Two are rules of Kafka.

Source: KIP-858; LogManager and ReplicationControlManager of Kafka 4.3.
"""

from __future__ import annotations

from model.election.log_directories import LogDirectories
from model.election.state import Replica
from model.language import Bool, Set, false, true
from model.releases import LATEST, UNRELEASED, kafka
from model.variants import bug


@bug(
    "keeps-lost-replica",
    breaks="leader_completeness",
    steps=11,
    fixed_by="log-directories",
    in_force=kafka(
        "4.0", LATEST, "reproduced on real brokers of 4.3", needs="several log directories"
    ),
)
class KeepsLostReplica(LogDirectories):
    """A broker that lost the log directory of its replica stays in the ELR.

    The operator removes the directory from log.dirs, and another directory has the file that marks
    a clean shutdown. So the broker counts as stopped cleanly, and is elected with an empty log.

    Kafka: LogManager.readBrokerEpochFromCleanShutdownFiles.
    """

    def lacks_directory(s, r: Replica) -> Bool:
        return false


@bug(
    "accepts-failed-replica",
    breaks="candidates_are_elected",
    steps=7,
    fixed_by="log-directories",
    in_force=kafka(
        "4.0", LATEST, "reproduced on real brokers of 4.3", needs="several log directories"
    ),
)
class AcceptsFailedReplica(LogDirectories):
    """A replica joins the ISR after its broker has reported that the log directory failed.

    The leader reads an old fetch request, and asks the controller to add the replica. When the
    leader stops, the replica is the whole ISR, and cannot be elected. The leader returns with every
    record, but is only in the ELR. While the ISR has a member, nobody is elected from the ELR.

    Kafka: ReplicationControlManager.ineligibleReplicasForIsr compares no directories.
    """

    def may_be_members(s, leader: Replica) -> Bool:
        return super(LogDirectories, s).may_be_members(leader)


@bug(
    "elects-failed-replica",
    breaks="failed_is_out_of_sync",
    steps=3,
    fixed_by="log-directories",
    in_force=UNRELEASED,
)
class ElectsFailedReplica(LogDirectories):
    """The controller elects a broker that has reported that the log directory of its replica
    failed.

    The broker is alive, but can neither read nor write the partition.
    """

    def is_electable(s, r: Replica) -> Bool:
        return true


@bug(
    "ignores-failed-directory",
    breaks="failed_is_out_of_sync",
    steps=2,
    fixed_by="log-directories",
    in_force=UNRELEASED,
)
class IgnoresFailedDirectory(LogDirectories):
    """The controller keeps a replica in the ISR when its broker reports that the log directory
    failed.
    """

    def remaining_isr_after_failure(s, r: Replica) -> Set[Replica]:
        return s.partition_registration.isr
