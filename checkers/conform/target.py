"""One of the clusters that `urteil conform` compares: its brokers, the versions of requests that it
supports, and the topics that all sequences of requests share.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from checkers.conform.connection import Answer, Connection
from checkers.conform.requests import LATEST
from checkers.conform.steps import Topic
from model.faults import InputFault
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.plain_messages import has_schema
from reference_impl.wire.messages.versions import VERSIONS

READY_WITHIN_S: Final = 60.0
AGAIN_AFTER_S: Final = 0.03
REPLICAS: Final = 3
MIN_INSYNC_REPLICAS: Final = 2
SHARED: Final = (Topic(name="^two", partitions=2), Topic(name="^four", partitions=4))
SOME_PARTITIONS: Final = 1_000  # more than a system gives a topic by itself
TOPIC_EXISTS: Final = "TOPIC_ALREADY_EXISTS"
NOT_YET: Final = ("NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION")


class NotReady(InputFault):
    """Raised if a cluster is not ready for requests. The message names what is missing."""


@dataclass(slots=True, kw_only=True)
class Target:
    """One of the compared clusters. `run` is the prefix of the names of all topics and groups of
    this run.
    """

    name: str
    bootstrap_servers: str
    run: str
    begun_ms: int
    brokers: dict[int, tuple[str, int]] = field(default_factory=dict[int, tuple[str, int]])
    controller: int = -1  # receives the requests of administrators
    versions: dict[Api, range] = field(default_factory=dict[Api, range])
    shared: dict[str, Any] = field(default_factory=dict[str, Any])  # metadata of shared topics

    @classmethod
    def opened(cls, name: str, bootstrap_servers: str, run: str, begun_ms: int) -> Target:
        """Connects to a cluster, creates the topics that all sequences of requests share, and
        returns the cluster. Raises NotReady if a broker does not answer, or if a topic cannot be
        created.
        """
        target = cls(name=name, bootstrap_servers=bootstrap_servers, run=run, begun_ms=begun_ms)
        host, _, port = bootstrap_servers.split(",")[0].rpartition(":")
        first = Connection(host, int(port))
        try:
            target._describe(first)
        except NotReady as fault:
            raise NotReady(f"{bootstrap_servers}: {fault}; name a broker that runs") from fault
        finally:
            first.close()
        names = {topic.name: run + topic.name.removeprefix("^") for topic in SHARED}
        target.shared = target.create(SHARED, names)
        return target

    def _describe(self, first: Connection) -> None:
        offered = fields_of(first.send(Api.API_VERSIONS, 0, {}))
        for row in offered["api_keys"]:
            if row["api_key"] in VERSIONS:
                api = Api(row["api_key"])
                versions = range(row["min_version"], row["max_version"] + 1)
                self.versions[api] = range(
                    max(versions.start, VERSIONS[api].first_answered),
                    min(versions.stop, VERSIONS[api].last + 1),
                )
        metadata = fields_of(first.send(Api.METADATA, 9, {"topics": []}))
        self.brokers = {one["node_id"]: (one["host"], one["port"]) for one in metadata["brokers"]}
        named: int = metadata["controller_id"]
        self.controller = named if named in self.brokers else min(self.brokers)

    def has(self, api: Api, version: int) -> bool:
        return version in self.versions.get(api, ()) and has_schema(api, version)

    def create(self, topics: Iterable[Topic], names: Mapping[str, str]) -> dict[str, Any]:
        """Creates topics, waits until every broker has their metadata, and returns the metadata of
        each topic.

        Raises NotReady if a topic is refused, or is not ready in time.
        """
        topics = tuple(topics)
        connections = {node: Connection(*place) for node, place in self.brokers.items()}
        try:
            # A system without CreateTopics creates a topic when its metadata is first requested,
            # and chooses the number of partitions.
            if self.creates_topics:
                self._create(connections[self.controller], topics, names)
            found = {
                topic.name: self._known(connections.values(), topic, names[topic.name])
                for topic in topics
            }
            for topic in topics:
                self._await_leaders(connections, names[topic.name], found[topic.name])
            return found
        finally:
            for connection in connections.values():
                connection.close()

    @property
    def creates_topics(self) -> bool:
        return Api.CREATE_TOPICS in self.versions

    def _create(
        self, connection: Connection, topics: tuple[Topic, ...], names: Mapping[str, str]
    ) -> None:
        replicas = min(REPLICAS, len(self.brokers))
        least = {"min.insync.replicas": str(min(MIN_INSYNC_REPLICAS, replicas))}
        new = [
            {
                "name": names[topic.name],
                "num_partitions": topic.partitions,
                "replication_factor": replicas,
                "configs": [
                    {"name": name, "value": value}
                    for name, value in {**least, **topic.configs}.items()
                ],
            }
            for topic in topics
        ]
        body = {"topics": new, "timeout": 20_000}
        answer = self._fields_of(
            connection.send(Api.CREATE_TOPICS, 5, body, within_s=READY_WITHIN_S)
        )
        for topic in answer["topics"]:
            if topic["error_code"] not in ("NONE", TOPIC_EXISTS):
                raise NotReady(
                    f"{self.name} does not create topic {topic['name']}: {topic['error_code']} "
                    f"({topic.get('error_message')}); a topic of conform has "
                    f"at most {REPLICAS} replicas"
                )

    def _known(self, connections: Iterable[Connection], topic: Topic, name: str) -> Any:
        until = time.monotonic() + READY_WITHIN_S
        found: Any = None
        for connection in connections:
            while True:
                creates = not self.creates_topics
                body = {"topics": [{"name": name}], "allow_auto_topic_creation": creates}
                (found,) = self._fields_of(connection.send(Api.METADATA, 12, body))["topics"]
                partitions = range(topic.partitions, topic.partitions + 1)
                if not self.creates_topics:
                    partitions = range(1, SOME_PARTITIONS)
                if _is_ready(found, partitions, min(REPLICAS, len(self.brokers))):
                    break
                if time.monotonic() > until:
                    raise NotReady(
                        f"{self.name}: topic {name} has no leader or lacks replicas; "
                        "check that every broker runs"
                    )
                time.sleep(AGAIN_AFTER_S)
        return found

    def _await_leaders(self, connections: Mapping[int, Connection], name: str, topic: Any) -> None:
        # A broker of Kafka shows new metadata before it acts on it (BrokerMetadataPublisher).
        until = time.monotonic() + READY_WITHIN_S
        for partition in topic["partitions"]:
            index, leader = partition["partition_index"], connections[partition["leader_id"]]
            wanted = [{"partition_index": index, "current_leader_epoch": -1, "timestamp": LATEST}]
            body = {"topics": [{"name": name, "partitions": wanted}]}
            while _error(self._fields_of(leader.send(Api.LIST_OFFSETS, 4, body))) in NOT_YET:
                if time.monotonic() > until:
                    raise NotReady(
                        f"{self.name}: the leader of {name}-{index} refuses to lead; "
                        "check that every broker runs"
                    )
                time.sleep(AGAIN_AFTER_S)

    def _fields_of(self, answer: Answer) -> dict[str, Any]:
        try:
            return fields_of(answer)
        except NotReady as fault:
            raise NotReady(f"{self.name}: {fault}; check that every broker runs") from fault


def fields_of(answer: Answer) -> dict[str, Any]:
    """Returns the fields of an answer. Raises NotReady if `answer` is a text, which means that the
    broker sent no readable response.
    """
    if isinstance(answer, str):
        raise NotReady(answer)
    return answer


def _error(answer: Mapping[str, Any]) -> str:
    error: str = answer["topics"][0]["partitions"][0]["error_code"]
    return error


def _is_ready(found: Mapping[str, Any], partitions: range, replicas: int) -> bool:
    known = found["partitions"]
    return (
        found["error_code"] == "NONE"
        and len(known) in partitions
        and all(one["leader_id"] >= 0 and len(one["isr_nodes"]) == replicas for one in known)
    )
