"""Sends the requests of an administrator: elect leaders, reassign replicas, configure, and delete
records.

    administration = Administration(partial(call, ("127.0.0.1", 9092)))
    administration.reassign({("orders", 0): (2, 3)})
    administration.elect([("orders", 0)])

Urteil also uses the functions `prefer` and `elect_preferred` as faults that it injects into
clusters.

Source: KIP-460 (elections), KIP-455 (reassignments), KIP-339 (configurations), KIP-107 (deletion).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from checkers.systems.ports import HOST
from checkers.systems.requests import call
from checkers.systems.system import Ability, System
from reference_impl.wire.messages.apis import Api

Place = tuple[str, int]  # a topic and the number of a partition
Call = Callable[[Api, int, Mapping[str, Any]], Any]
TOPIC_RESOURCE, BROKER_RESOURCE, GROUP_RESOURCE = 2, 4, 32
SET: Final = 0
ELECTIONS: Final = {"preferred": 0, "unclean": 1}
TIMEOUT_MS: Final = 5_000
DELETES_WITHIN_MS: Final = 1_500
NONE: Final = "NONE"
# A partition may have the leader already, and the first replica may be out of sync.
NOT_ELECTED: Final = {"ELECTION_NOT_NEEDED", "PREFERRED_LEADER_NOT_AVAILABLE"}


class Refused(RuntimeError):
    """Raised if a broker rejects a request. The message has the name of the error."""

    def __init__(self, error: str, message: str) -> None:
        super().__init__(f"{error}: {message}" if message else error)
        self.error = error


@dataclass(frozen=True, slots=True)
class Administration:
    call: Call

    def elect(
        self,
        places: Collection[Place] | None = None,
        kind: Literal["preferred", "unclean"] = "preferred",
        accepted: Collection[str] = NOT_ELECTED,
    ) -> None:
        """Requests the election of a leader for each partition in `places`. If `places` is None,
        requests an election for every partition of the cluster.

        Raises Refused if the answer has an error that is not in `accepted`. By default, two errors
        are accepted: ELECTION_NOT_NEEDED (the partition already has this leader) and
        PREFERRED_LEADER_NOT_AVAILABLE (the first replica is out of sync).
        """
        topics = None if places is None else [{"topic": t, "partitions": (i,)} for t, i in places]
        body = {"election_type": ELECTIONS[kind], "topic_partitions": topics, "timeout": TIMEOUT_MS}
        answer = self.call(Api.ELECT_LEADERS, 2, body)
        accept(answer)
        for topic in answer["replica_election_results"]:
            for each in topic["partition_result"]:
                accept(each, *accepted)

    def reassign(self, replicas: Mapping[Place, Collection[int] | None]) -> None:
        """Begins to move each partition to the listed brokers, of which the first is the preferred
        leader. If the value for a partition is None, cancels the reassignment of this partition.
        """
        moved: list[dict[str, Any]] = []
        for (topic, index), brokers in replicas.items():
            listed = None if brokers is None else [*brokers]
            partition = {"partition_index": index, "replicas": listed}
            moved.append({"name": topic, "partitions": [partition]})
        body = {"timeout": TIMEOUT_MS, "topics": moved}
        answer = self.call(Api.ALTER_PARTITION_REASSIGNMENTS, 0, body)
        accept(answer)
        for topic in answer["responses"]:
            for each in topic["partitions"]:
                accept(each)

    def configure(self, kind: int, resource: str, name: str, value: str) -> None:
        """Sets the configuration `name` of a resource, such as a topic or a broker. `kind` is
        Kafka's number for the type of the resource, and `resource` is the name or the id of the
        resource.

        A change of a broker's configuration must be sent to this broker. Any other broker rejects
        it.
        """
        changed = {
            "resource_type": kind,
            "resource_name": resource,
            "configs": [{"name": name, "config_operation": SET, "value": value}],
        }
        body = {"resources": [changed], "validate_only": False}
        accept(self.call(Api.INCREMENTAL_ALTER_CONFIGS, 1, body)["responses"][0])

    def delete_records(self, place: Place, before: int) -> None:
        """Deletes the records before the offset `before`. The request must be sent to the
        partition's leader. A timeout is not an error: the leader has deleted its own records, and
        only waits for its followers.
        """
        topic, index = place
        partitions = [{"partition_index": index, "offset": before}]
        topics = [{"name": topic, "partitions": partitions}]
        answer = self.call(Api.DELETE_RECORDS, 2, {"topics": topics, "timeout": DELETES_WITHIN_MS})
        # The leader deletes its own records at once, and answers after its followers have deleted
        # theirs.
        accept(answer["topics"][0]["partitions"][0], "REQUEST_TIMED_OUT")

    def replicas(self) -> dict[Place, tuple[int, ...]]:
        """Returns the replicas of every partition. The first replica of a partition is its
        preferred leader.
        """
        topics = self.call(Api.METADATA, 9, {"topics": None})["topics"]
        return {
            (topic["name"], each["partition_index"]): tuple(each["replica_nodes"])
            for topic in topics
            for each in topic["partitions"]
        }


def accept(answer: Mapping[str, Any], *errors: str) -> None:
    """Raises Refused if the answer has an error that is not in `errors`."""
    error = answer["error_code"]
    if error not in (NONE, *errors):
        raise Refused(error, answer.get("error_message") or "")


def prefer(system: System, broker: int) -> None:
    """Makes the broker the first replica of every partition. The number of replicas of a partition
    does not change. If the broker had no replica of a partition, it replaces the last replica, and
    Kafka copies the data of the partition to the broker.
    """
    administration = administration_of(system)
    moved = {
        place: (broker, *(one for one in brokers if one != broker))[: len(brokers)]
        for place, brokers in administration.replicas().items()
        if brokers[0] != broker
    }
    if moved:
        administration.reassign(moved)


def elect_preferred(system: System, broker: int) -> None:
    """Makes the first replica of each partition its leader, if this replica is in sync.

    The argument `broker` is not used, because the election concerns all partitions.
    """
    del broker  # any broker passes the request on to the controller
    administration_of(system).elect()


# The abilities that are requests, as actions on a broker; the others are actions of the system.
ACTIONS: Final[Mapping[Ability, Callable[[System, int], None]]] = {
    Ability.REASSIGN: prefer,
    Ability.ELECT: elect_preferred,
}


def perform(system: System, action: Ability, broker: int) -> None:
    """Performs an action on a broker. Raises Unable if the system does not support the action."""
    if action in ACTIONS and action in system.abilities:
        ACTIONS[action](system, broker)
    else:
        system.do(action, broker)


def administration_of(system: System, broker: int = 1) -> Administration:
    """Returns an object that sends the requests of an administrator to one broker of a cluster on
    this machine.
    """
    address = system.bootstrap_servers.split(",")[broker - 1]
    port = address.rpartition(":")[2]
    return Administration(partial(call, (HOST, int(port))))
