"""Why Apache Kafka 4.3 and the reference broker differ: the table of all known differences.

Every difference that `urteil conform` meets must have a row here. A row that explains no difference
any more is stale, and a test asks for its removal.
"""

from __future__ import annotations

from typing import Final

from checkers.conform.compare import ABSENT, Difference
from checkers.conform.reason import Reason, Verdict, beside_an_error
from reference_impl.wire.apis import Api

BROKER_CONFIGS: Final = (3, 4)  # dynamic for all brokers, and static


def _of(*apis: Api) -> frozenset[Api]:
    return frozenset(apis)


def _is_broker_default(difference: Difference) -> bool:
    return difference.system_fields.get("config_source") in BROKER_CONFIGS


def _is_out_of_order(difference: Difference) -> bool:
    return difference.system_fields.get("error_code") == "OUT_OF_ORDER_SEQUENCE_NUMBER"


def _is_empty_group(difference: Difference) -> bool:
    return difference.system_fields.get("group_state") == "Empty"


def _is_error_here(difference: Difference) -> bool:
    return difference.system_fields.get("error_code") not in (None, "NONE")


def _is_as_large(difference: Difference) -> bool:
    system, reference = (
        sum(len(topic["partitions"]) for topic in fields["topic_partitions"])
        for fields in (difference.system_fields, difference.reference_fields)
    )
    return system == reference


def _names_a_deleted_record(difference: Difference) -> bool:
    offset, other = (
        fields.get("offset") for fields in (difference.system_fields, difference.reference_fields)
    )
    return offset is not None and offset >= 0 and other == -1


REASONS: Final[tuple[Reason, ...]] = (
    # ------------------------------------------------------------ permitted
    Reason(
        name="fewer-apis",
        verdict=Verdict.PERMITTED,
        apis=_of(Api.API_VERSIONS),
        field="api_keys.*",
        reference=(ABSENT,),
        sentence="The reference broker has fewer requests than Kafka, and ApiVersions says so.",
    ),
    Reason(
        name="features",
        verdict=Verdict.PERMITTED,
        apis=_of(Api.API_VERSIONS),
        field="*_features*",
        sentence="The reference broker has fewer features than Kafka, and ApiVersions says so.",
    ),
    Reason(
        name="fields-beside-a-fetch-error",
        verdict=Verdict.PERMITTED,
        apis=_of(Api.FETCH),
        field="responses.partitions.*",
        when=beside_an_error,
        sentence="Beside the error of a topic partition, the other fields have no meaning.",
    ),
    Reason(
        name="log-start-beside-a-produce-error",
        verdict=Verdict.PERMITTED,
        apis=_of(Api.PRODUCE),
        field="responses.partition_responses.log_start_offset",
        when=_is_error_here,
        sentence="Beside the error of a topic partition, the log start offset has no meaning.",
    ),
    Reason(
        name="created-configs",
        verdict=Verdict.PERMITTED,
        apis=_of(Api.CREATE_TOPICS),
        field="topics.configs",
        reference=(None,),
        sentence="The settings of a created topic are optional in the answer (KIP-525).",
    ),
    Reason(
        name="broker-defaults",
        verdict=Verdict.PERMITTED,
        apis=_of(Api.DESCRIBE_CONFIGS),
        field="results.configs.*",
        when=_is_broker_default,
        sentence="The default of a topic's setting is a setting of the brokers of the cluster.",
    ),
    Reason(
        name="heartbeat-interval",
        verdict=Verdict.PERMITTED,
        apis=_of(Api.CONSUMER_GROUP_HEARTBEAT),
        field="heartbeat_interval",
        sentence="The interval of heartbeats is a setting of the cluster.",
    ),
    Reason(
        name="assignment-among-equals",
        verdict=Verdict.PERMITTED,
        apis=_of(Api.CONSUMER_GROUP_HEARTBEAT),
        field="assignment.topic_partitions (count)",
        when=_is_as_large,
        ends=True,
        sentence="An assignor chooses among balanced assignments; both have the same number.",
    ),
    # ------------------------------------------------------------ theirs
    Reason(
        name="largest-timestamp-of-a-deleted-record",
        verdict=Verdict.THEIRS,
        apis=_of(Api.LIST_OFFSETS),
        field="topics.partitions.*",
        notes="timestamp -3*",
        when=_names_a_deleted_record,
        sentence="Kafka names a deleted record as the one with the largest timestamp.",
    ),
    # ------------------------------------------------------------ ours to fix
    Reason(
        name="join-group-0",
        verdict=Verdict.OURS,
        apis=_of(Api.API_VERSIONS),
        field="api_keys.min_version",
        system=(0,),
        reference=(2,),
        sentence="Kafka 4.3 answers JoinGroup 0 and 1 too; the reference broker begins with 2.",
    ),
    Reason(
        name="assignment-epoch-of-an-empty-group",
        verdict=Verdict.OURS,
        apis=_of(Api.CONSUMER_GROUP_DESCRIBE),
        field="groups.assignment_epoch",
        when=_is_empty_group,
        sentence="Kafka computes no assignment for a group without members.",
    ),
    Reason(
        name="debugging-consumer",
        verdict=Verdict.OURS,
        apis=_of(Api.LIST_OFFSETS),
        field="topics.partitions.*",
        notes="replica id -2",
        reference=("NOT_LEADER_OR_FOLLOWER", -1),
        sentence="A follower answers a debugging consumer, whose replica id is -2, in Kafka.",
    ),
    Reason(
        name="client-name",
        verdict=Verdict.OURS,
        apis=_of(Api.API_VERSIONS),
        notes="invalid client name",
        versions=range(3, 100),
        sentence="Kafka refuses an empty client name (KIP-511); the reference broker does not.",
    ),
    Reason(
        name="setting-equal-to-default",
        verdict=Verdict.OURS,
        apis=_of(Api.DESCRIBE_CONFIGS),
        field="results.configs.config_source",
        system=(1,),
        reference=(5,),
        sentence="A setting that was set to its default is described as if it was never set.",
    ),
    Reason(
        name="fetch-limits",
        verdict=Verdict.OURS,
        apis=_of(Api.FETCH),
        field="responses.partitions.records*",
        notes="*max_bytes*",
        sentence="Kafka cuts the last batch at the limit; the reference broker returns whole ones.",
    ),
    Reason(
        name="leader-hint-of-produce",
        verdict=Verdict.OURS,
        apis=_of(Api.PRODUCE),
        field="*current_leader*",
        sentence="Kafka names the leader to a producer that asks a follower (KIP-951).",
    ),
    Reason(
        name="leader-endpoint-of-produce",
        verdict=Verdict.OURS,
        apis=_of(Api.PRODUCE),
        field="node_endpoints*",
        sentence="Kafka sends the address of the leader to a producer that asks a follower.",
    ),
    Reason(
        name="zstd-in-old-produce",
        verdict=Verdict.OURS,
        apis=_of(Api.PRODUCE),
        versions=range(7),
        field="responses.partition_responses.*",
        notes="*zstd",
        ends=True,
        sentence="Kafka refuses zstd before Produce 7 (KIP-110); the reference broker does not.",
    ),
    Reason(
        name="record-errors",
        verdict=Verdict.OURS,
        apis=_of(Api.PRODUCE),
        field="responses.partition_responses.record_errors (count)",
        reference=(0,),
        sentence="Kafka names the refused records (KIP-467); the reference broker does not.",
    ),
    Reason(
        name="sequence-of-a-failed-verification",
        verdict=Verdict.OURS,
        apis=_of(Api.PRODUCE),
        field="responses.partition_responses.*",
        notes="non-transactional batch of the producer",
        when=_is_out_of_order,
        ends=True,
        sentence="Kafka remembers the first sequence of a batch whose verification failed.",
    ),
    Reason(
        name="unknown-topic-before-setting",
        verdict=Verdict.OURS,
        apis=_of(Api.INCREMENTAL_ALTER_CONFIGS),
        field="responses.error_code",
        system=("UNKNOWN_TOPIC_OR_PARTITION",),
        reference=("INVALID_CONFIG",),
        sentence="Kafka looks for the topic before it validates a setting that is to be deleted.",
    ),
    Reason(
        name="unknown-member-in-a-transaction",
        verdict=Verdict.OURS,
        apis=_of(Api.TXN_OFFSET_COMMIT),
        field="topics.partitions.error_code",
        system=("UNKNOWN_MEMBER_ID",),
        reference=("ILLEGAL_GENERATION",),
        sentence="Kafka looks for the member of a group before it compares the generation.",
    ),
    Reason(
        name="long-commit-metadata",
        verdict=Verdict.OURS,
        apis=_of(Api.OFFSET_COMMIT),
        field="topics.partitions.error_code",
        system=("OFFSET_METADATA_TOO_LARGE",),
        ends=True,
        sentence="Kafka bounds the metadata of a committed offset by 4,096 bytes.",
    ),
    Reason(
        name="described-client",
        verdict=Verdict.OURS,
        apis=_of(Api.CONSUMER_GROUP_DESCRIBE),
        field="groups.members.client_id",
        reference=("",),
        sentence="Kafka describes a member's client id; the reference broker does not keep it.",
    ),
)
