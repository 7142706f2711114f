"""Bugs that need a broker with several log directories. Three are rules of Kafka.

Source: KIP-858; LogManager and ReplicationControlManager of Kafka 4.3.
"""

from __future__ import annotations

from model.election.log_directories import LogDirectories
from model.election.state import Replica
from model.language import Bool, Set, action, false, true
from model.releases import LATEST, UNRELEASED, kafka
from model.variants import bug


@bug(
    "keeps-lost-replica",
    breaks="leader_completeness",
    steps=11,
    fixed_by="log-directories",
    in_force=kafka(
        "4.3", LATEST, "reproduced on real brokers of 4.3", needs="several log directories"
    ),
)
class KeepsLostReplica(LogDirectories):
    """A broker that lost the log directory of its replica stays in the ELR.

    The operator removes the directory from log.dirs, and another directory has the clean shutdown
    file. The controller treats the shutdown as clean, and elects the broker with an empty log.

    In Kafka 4.0 to 4.2, the request AssignReplicasToDirs empties the ELR, and such a broker may be
    elected uncleanly.

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
    record, but is only in the ELR. The controller elects from the ELR only if the ISR is empty.

    Kafka: ReplicationControlManager.ineligibleReplicasForIsr compares no directories.
    """

    def are_online(s, members: Set[Replica]) -> Bool:
        return true


@bug(
    "reports-too-late",
    breaks="failed_is_out_of_sync",
    steps=4,
    at={"max_disruptions": 2},
    fixed_by="log-directories",
    in_force=kafka(
        "4.0", LATEST, "reproduced on real brokers of 4.3", needs="several log directories"
    ),
)
class ReportsTooLate(LogDirectories):
    """One heartbeat unfences a broker and reports its failed directory, in this order.

    The controller elects the broker, because the registration still lists the directory. Then it
    handles the directory with the state from before the election, and changes nothing.

    Kafka: ReplicationControlManager.processBrokerHeartbeat.
    """

    @action(fair="weak")
    def unfence(s, r: Replica) -> None:
        """The controller unfences a broker. If the broker's log directory has failed, the
        controller notes this failure only after it has unfenced the broker.

        Kafka: handleBrokerUnfenced, and then handleDirectoriesOffline.
        Simplified: the simplifications of this action in the version `kafka-4.1` apply.
        """
        is_offline = s.directory[r].is_offline | s.directory[r].has_failed
        super().unfence(r)
        s.directory[r].is_offline = is_offline


@bug(
    "elects-failed-replica",
    breaks="failed_is_out_of_sync",
    steps=3,
    fixed_by="log-directories",
    in_force=UNRELEASED,
)
class ElectsFailedReplica(LogDirectories):
    """The controller elects a broker although its replica is in an offline log directory.

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
