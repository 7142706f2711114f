"""A client that sends the same request repeatedly, and itself uses little CPU time."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Mapping
from typing import Any, Final

from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.wire.messages import plain_messages
from reference_impl.wire.messages.apis import Api

TIMEOUT_S: Final = 60.0
_LENGTH: Final = struct.Struct(">i")
MEGABYTE: Final = 1_000_000
MOST_BYTES: Final = 50_000_000
NO_SESSION: Final = -1
NEWEST: Final[Mapping[Api, int]] = {  # by topic name: newer versions need topic ids
    Api.API_VERSIONS: 0,
    Api.METADATA: 5,
    Api.CREATE_TOPICS: 4,
    Api.PRODUCE: 9,
    Api.FETCH: 11,
}


class Client:
    def __init__(self, server: str) -> None:
        host, _, port = server.rpartition(":")
        self.stream = socket.create_connection((host, int(port)), timeout=TIMEOUT_S)
        self.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.versions: dict[int, int] = {}
        self.versions = {
            entry["api_key"]: entry["max_version"]
            for entry in self.call(Api.API_VERSIONS)["api_keys"]
        }

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()

    def version(self, api: Api) -> int:
        return min(NEWEST[api], self.versions.get(int(api), NEWEST[api]))

    def frame(self, api: Api, body: Mapping[str, Any]) -> bytes:
        return plain_messages.encode(api, self.version(api), 1, body)

    def exchange(self, frame: bytes) -> bytes:
        """Sends a request, and returns the frame of the response, without its length prefix."""
        self.stream.sendall(frame)
        return plain_messages.receive(self.stream)

    def call(self, api: Api, **body: Any) -> dict[str, Any]:
        answer = self.exchange(self.frame(api, body))
        return plain_messages.decode(api, self.version(api), answer)

    def produce_frame(self, topic: str, records: int, least_bytes: int, most_bytes: int) -> bytes:
        """Returns the bytes of a Produce request, whose values have `least_bytes` to `most_bytes`
        bytes.
        """
        now_ms = int(time.time() * 1000)
        lengths = (least_bytes + at * 37 % (most_bytes - least_bytes + 1) for at in range(records))
        batch = encode([Record(value=b"v" * size, timestamp_ms=now_ms) for size in lengths])
        data = [{"index": 0, "records": batch}]
        topics = [{"name": topic, "partition_data": data}]
        return self.frame(Api.PRODUCE, {"acks": -1, "timeout": 30_000, "topic_data": topics})

    def fetch_frame(
        self,
        topic: str,
        size: int,
        *,
        partitions: int = 1,
        max_wait_ms: int = 500,
        session_epoch: int = NO_SESSION,
    ) -> bytes:
        """Returns the bytes of a full Fetch request, from offset 0 of each partition."""
        wanted = [
            {
                "partition": index,
                "fetch_offset": 0,
                "partition_max_bytes": size,
                "current_leader_epoch": -1,
                "log_start_offset": -1,
            }
            for index in range(partitions)
        ]
        topics = [{"topic": topic, "partitions": wanted}]
        return self._fetch_frame(max_wait_ms, 0, session_epoch, topics)

    def begin_session(self, topic: str, partitions: int) -> int:
        """Begins a fetch session with the first `partitions` partitions of the topic, and returns
        its id.
        """
        frame = self.fetch_frame(
            topic, MEGABYTE, partitions=partitions, max_wait_ms=0, session_epoch=0
        )
        answer = self.exchange(frame)
        session: int = plain_messages.decode(Api.FETCH, self.version(Api.FETCH), answer)[
            "session_id"
        ]
        return session

    def session_frame(self, session: int, epoch: int) -> bytes:
        """Returns the bytes of an incremental Fetch request that names no partition."""
        return self._fetch_frame(0, session, epoch, [])

    def _fetch_frame(
        self, max_wait_ms: int, session: int, epoch: int, topics: list[dict[str, Any]]
    ) -> bytes:
        body = {
            "replica_id": -1,
            "max_wait": max_wait_ms,
            "min_bytes": 1,
            "max_bytes": MOST_BYTES,
            "session_id": session,
            "session_epoch": epoch,
            "topics": topics,
        }
        return self.frame(Api.FETCH, body)


def created(servers: str, topic: str, partitions: int, replicas: int) -> list[str]:
    """Creates a topic, and returns the address of the leader of each partition.

    Raises TimeoutError if a partition has no leader after `TIMEOUT_S` seconds.
    """
    with Client(servers.split(",")[0]) as client:
        # librdkafka's mock creates a topic, with four partitions, when its metadata is requested
        if int(Api.CREATE_TOPICS) in client.versions:
            wanted = {
                "name": topic,
                "num_partitions": partitions,
                "replication_factor": replicas,
                "assignments": [],
                "configs": [],
            }
            client.call(Api.CREATE_TOPICS, topics=[wanted], timeout=30_000, validate_only=False)
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            found = client.call(
                Api.METADATA, topics=[{"name": topic}], allow_auto_topic_creation=True
            )
            (described,) = found["topics"]
            leaders = {one["partition_index"]: one["leader_id"] for one in described["partitions"]}
            if len(leaders) >= partitions and -1 not in leaders.values():
                at = {one["node_id"]: f"{one['host']}:{one['port']}" for one in found["brokers"]}
                return [at[leaders[index]] for index in range(partitions)]
            time.sleep(0.05)
    raise TimeoutError(f"topic {topic} has no leaders after {TIMEOUT_S} s")
