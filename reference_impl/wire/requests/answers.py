"""The table of the functions that handle each type of request."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from reference_impl.wire.messages.adapter import Call
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.requests.broker.served_broker import ServedBroker
from reference_impl.wire.requests.cluster import (
    cluster,
    control_plane,
    inspection,
    sasl,
    share_and_streams,
    switched_off,
)
from reference_impl.wire.requests.configs import client_quotas, configs
from reference_impl.wire.requests.coordinators import (
    consumer_groups,
    group_administration,
    groups,
    transactions,
)
from reference_impl.wire.requests.handled import Handled
from reference_impl.wire.requests.records import data_plane, delete_records, fetches, produce
from reference_impl.wire.requests.topics import elections, reassignments, topics

ANSWERS: Final[Mapping[Api, Callable[[ServedBroker, Call], Coroutine[Any, Any, bytes]]]] = {
    Api.FETCH: fetches.fetch,
    Api.LIST_OFFSETS: data_plane.list_offsets,
    Api.METADATA: control_plane.metadata,
    Api.OFFSET_COMMIT: groups.offset_commit,
    Api.OFFSET_FETCH: groups.offset_fetch,
    Api.JOIN_GROUP: groups.join_group,
    Api.HEARTBEAT: groups.heartbeat,
    Api.LEAVE_GROUP: groups.leave_group,
    Api.SYNC_GROUP: groups.sync_group,
    Api.ADD_PARTITIONS_TO_TXN: transactions.add_partitions_to_txn,
    Api.ADD_OFFSETS_TO_TXN: transactions.add_offsets_to_txn,
    Api.END_TXN: transactions.end_txn,
    Api.TXN_OFFSET_COMMIT: transactions.txn_offset_commit,
    Api.CONSUMER_GROUP_HEARTBEAT: consumer_groups.heartbeat,
    Api.CONSUMER_GROUP_DESCRIBE: consumer_groups.describe,
    Api.FIND_COORDINATOR: control_plane.find_coordinator,
    Api.API_VERSIONS: control_plane.api_versions,
    Api.CREATE_TOPICS: topics.create_topics,
    Api.CREATE_PARTITIONS: topics.create_partitions,
    Api.DELETE_TOPICS: topics.delete_topics,
    Api.INCREMENTAL_ALTER_CONFIGS: configs.incremental_alter_configs,
    Api.ALTER_CONFIGS: configs.alter_configs,
    Api.DESCRIBE_CONFIGS: configs.describe_configs,
    Api.LIST_CONFIG_RESOURCES: configs.list_config_resources,
    Api.DESCRIBE_CLUSTER: cluster.describe_cluster,
    Api.DESCRIBE_TOPIC_PARTITIONS: cluster.describe_topic_partitions,
    Api.DESCRIBE_GROUPS: group_administration.describe_groups,
    Api.LIST_GROUPS: group_administration.list_groups,
    Api.DELETE_GROUPS: group_administration.delete_groups,
    Api.DESCRIBE_PRODUCERS: inspection.describe_producers,
    Api.DESCRIBE_LOG_DIRS: inspection.describe_log_dirs,
    Api.DESCRIBE_TRANSACTIONS: inspection.describe_transactions,
    Api.LIST_TRANSACTIONS: inspection.list_transactions,
    Api.WRITE_TXN_MARKERS: inspection.write_txn_markers,
    Api.DESCRIBE_QUORUM: inspection.describe_quorum,
    Api.ELECT_LEADERS: elections.elect_leaders,
    Api.ALTER_PARTITION_REASSIGNMENTS: reassignments.alter_partition_reassignments,
    Api.LIST_PARTITION_REASSIGNMENTS: reassignments.list_partition_reassignments,
    Api.DESCRIBE_ACLS: switched_off.describe_acls,
    Api.CREATE_ACLS: switched_off.create_acls,
    Api.DELETE_ACLS: switched_off.delete_acls,
    Api.CREATE_DELEGATION_TOKEN: switched_off.create_token,
    Api.RENEW_DELEGATION_TOKEN: switched_off.renew_or_expire_token,
    Api.EXPIRE_DELEGATION_TOKEN: switched_off.renew_or_expire_token,
    Api.DESCRIBE_DELEGATION_TOKEN: switched_off.describe_tokens,
    Api.DESCRIBE_CLIENT_QUOTAS: client_quotas.describe_client_quotas,
    Api.ALTER_CLIENT_QUOTAS: client_quotas.alter_client_quotas,
    Api.ALTER_REPLICA_LOG_DIRS: inspection.alter_replica_log_dirs,
    Api.SASL_HANDSHAKE: sasl.sasl_handshake,
    Api.SASL_AUTHENTICATE: sasl.sasl_authenticate,
    Api.DESCRIBE_USER_SCRAM_CREDENTIALS: sasl.describe_scram,
    Api.ALTER_USER_SCRAM_CREDENTIALS: sasl.alter_scram,
    Api.SHARE_GROUP_HEARTBEAT: share_and_streams.heartbeat,
    Api.SHARE_GROUP_DESCRIBE: share_and_streams.describe,
    Api.SHARE_FETCH: share_and_streams.fetch_or_acknowledge,
    Api.SHARE_ACKNOWLEDGE: share_and_streams.fetch_or_acknowledge,
    Api.INITIALIZE_SHARE_GROUP_STATE: share_and_streams.state,
    Api.READ_SHARE_GROUP_STATE: share_and_streams.state,
    Api.WRITE_SHARE_GROUP_STATE: share_and_streams.state,
    Api.DELETE_SHARE_GROUP_STATE: share_and_streams.state,
    Api.READ_SHARE_GROUP_STATE_SUMMARY: share_and_streams.state,
    Api.DESCRIBE_SHARE_GROUP_OFFSETS: share_and_streams.describe_offsets,
    Api.ALTER_SHARE_GROUP_OFFSETS: share_and_streams.change_offsets,
    Api.DELETE_SHARE_GROUP_OFFSETS: share_and_streams.change_offsets,
    Api.STREAMS_GROUP_HEARTBEAT: share_and_streams.heartbeat,
    Api.STREAMS_GROUP_DESCRIBE: share_and_streams.describe,
    Api.OFFSET_DELETE: group_administration.offset_delete,
    Api.DELETE_RECORDS: delete_records.delete_records,
    Api.INIT_PRODUCER_ID: control_plane.init_producer_id,
    Api.OFFSET_FOR_LEADER_EPOCH: data_plane.offset_for_leader_epoch,
}


async def answer(broker: ServedBroker, call: Call) -> bytes | Handled:
    """Returns the response frame of a request. For Produce, the result also contains the
    appended batches.
    """
    if call.api is not Api.PRODUCE:
        return await ANSWERS[call.api](broker, call)
    result = await produce.produce(broker, call)
    return Handled(result.frame, result.appended, result.frame is None and result.fails)
