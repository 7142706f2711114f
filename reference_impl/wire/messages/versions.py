"""The supported requests and their versions, as ApiVersions advertises them.

JoinGroup and the requests of share and streams groups have the versions of Apache Kafka 4.3. All
other requests have the versions of Apache Kafka 4.1.

As in Kafka, the versions 0 to 2 of Produce are advertised, because old versions of librdkafka need
this. A request of these versions is rejected.

Source: Kafka message schemas, 4.1; KIP-896; KAFKA-18659.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from reference_impl.wire.messages.apis import Api


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of a request: ApiVersions advertises `first` to `last`, and the broker
    supports `first_answered` to `last`. The two ranges differ only for Produce.
    """

    first: int
    last: int
    first_answered: int

    def __contains__(self, version: int) -> bool:
        return self.first_answered <= version <= self.last


VERSIONS: Final = {
    Api.PRODUCE: Versions(0, 13, 3),
    Api.FETCH: Versions(4, 18, 4),
    Api.LIST_OFFSETS: Versions(1, 11, 1),
    Api.METADATA: Versions(0, 13, 0),
    Api.OFFSET_COMMIT: Versions(2, 10, 2),
    Api.OFFSET_FETCH: Versions(1, 10, 1),
    Api.FIND_COORDINATOR: Versions(0, 6, 0),
    Api.JOIN_GROUP: Versions(0, 9, 0),
    Api.HEARTBEAT: Versions(0, 4, 0),
    Api.LEAVE_GROUP: Versions(0, 5, 0),
    Api.SYNC_GROUP: Versions(0, 5, 0),
    Api.SASL_HANDSHAKE: Versions(0, 1, 0),
    Api.API_VERSIONS: Versions(0, 4, 0),
    Api.DESCRIBE_GROUPS: Versions(0, 6, 0),
    Api.LIST_GROUPS: Versions(0, 5, 0),
    Api.CREATE_TOPICS: Versions(2, 7, 2),
    Api.DELETE_TOPICS: Versions(1, 6, 1),
    Api.DELETE_RECORDS: Versions(0, 2, 0),
    Api.INIT_PRODUCER_ID: Versions(0, 5, 0),
    Api.OFFSET_FOR_LEADER_EPOCH: Versions(2, 4, 2),
    Api.ADD_PARTITIONS_TO_TXN: Versions(0, 5, 0),
    Api.ADD_OFFSETS_TO_TXN: Versions(0, 4, 0),
    Api.END_TXN: Versions(0, 5, 0),
    Api.WRITE_TXN_MARKERS: Versions(1, 2, 1),
    Api.TXN_OFFSET_COMMIT: Versions(0, 5, 0),
    Api.DESCRIBE_ACLS: Versions(1, 3, 1),
    Api.CREATE_ACLS: Versions(1, 3, 1),
    Api.DELETE_ACLS: Versions(1, 3, 1),
    Api.DESCRIBE_CONFIGS: Versions(1, 4, 1),
    Api.ALTER_CONFIGS: Versions(0, 2, 0),
    Api.ALTER_REPLICA_LOG_DIRS: Versions(1, 2, 1),
    Api.DESCRIBE_LOG_DIRS: Versions(1, 5, 1),
    Api.SASL_AUTHENTICATE: Versions(0, 2, 0),
    Api.CREATE_PARTITIONS: Versions(0, 3, 0),
    Api.CREATE_DELEGATION_TOKEN: Versions(1, 3, 1),
    Api.RENEW_DELEGATION_TOKEN: Versions(1, 2, 1),
    Api.EXPIRE_DELEGATION_TOKEN: Versions(1, 2, 1),
    Api.DESCRIBE_DELEGATION_TOKEN: Versions(1, 3, 1),
    Api.DELETE_GROUPS: Versions(0, 2, 0),
    Api.ELECT_LEADERS: Versions(0, 2, 0),
    Api.INCREMENTAL_ALTER_CONFIGS: Versions(0, 1, 0),
    Api.ALTER_PARTITION_REASSIGNMENTS: Versions(0, 1, 0),
    Api.LIST_PARTITION_REASSIGNMENTS: Versions(0, 0, 0),
    Api.OFFSET_DELETE: Versions(0, 0, 0),
    Api.DESCRIBE_CLIENT_QUOTAS: Versions(0, 1, 0),
    Api.ALTER_CLIENT_QUOTAS: Versions(0, 1, 0),
    Api.DESCRIBE_USER_SCRAM_CREDENTIALS: Versions(0, 0, 0),
    Api.ALTER_USER_SCRAM_CREDENTIALS: Versions(0, 0, 0),
    Api.DESCRIBE_QUORUM: Versions(0, 2, 0),
    Api.DESCRIBE_CLUSTER: Versions(0, 2, 0),
    Api.DESCRIBE_PRODUCERS: Versions(0, 0, 0),
    Api.DESCRIBE_TRANSACTIONS: Versions(0, 0, 0),
    Api.LIST_TRANSACTIONS: Versions(0, 2, 0),
    Api.CONSUMER_GROUP_HEARTBEAT: Versions(0, 1, 0),
    Api.CONSUMER_GROUP_DESCRIBE: Versions(0, 1, 0),
    Api.LIST_CONFIG_RESOURCES: Versions(0, 1, 0),
    Api.DESCRIBE_TOPIC_PARTITIONS: Versions(0, 0, 0),
    Api.SHARE_GROUP_HEARTBEAT: Versions(1, 1, 1),
    Api.SHARE_GROUP_DESCRIBE: Versions(1, 1, 1),
    Api.SHARE_FETCH: Versions(1, 2, 1),
    Api.SHARE_ACKNOWLEDGE: Versions(1, 2, 1),
    Api.INITIALIZE_SHARE_GROUP_STATE: Versions(0, 0, 0),
    Api.READ_SHARE_GROUP_STATE: Versions(0, 0, 0),
    Api.WRITE_SHARE_GROUP_STATE: Versions(0, 1, 0),
    Api.DELETE_SHARE_GROUP_STATE: Versions(0, 0, 0),
    Api.READ_SHARE_GROUP_STATE_SUMMARY: Versions(0, 1, 0),
    Api.STREAMS_GROUP_HEARTBEAT: Versions(0, 0, 0),
    Api.STREAMS_GROUP_DESCRIBE: Versions(0, 0, 0),
    Api.DESCRIBE_SHARE_GROUP_OFFSETS: Versions(0, 1, 0),
    Api.ALTER_SHARE_GROUP_OFFSETS: Versions(0, 0, 0),
    Api.DELETE_SHARE_GROUP_OFFSETS: Versions(0, 0, 0),
}
