"""Why Apache Kafka 4.3 and the reference broker differ: the table of all known differences.

Every difference that `urteil conform` meets must have a row here. A row that explains no difference
any more is stale, and a test asks for its removal.
"""

from __future__ import annotations

from typing import Final

from checkers.conform.compare import ABSENT, Difference
from checkers.conform.reason import Reason, Verdict, beside_an_error
from reference_impl.wire.versions import Api

STATIC_BROKER_CONFIG: Final = 4


def _of(*apis: Api) -> frozenset[Api]:
    return frozenset(apis)


def _is_broker_default(difference: Difference) -> bool:
    return difference.system_fields.get("config_source") == STATIC_BROKER_CONFIG


def _is_error_here(difference: Difference) -> bool:
    return difference.system_fields.get("error_code") not in (None, "NONE")


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
        name="config-types",
        verdict=Verdict.OURS,
        apis=_of(Api.DESCRIBE_CONFIGS),
        field="results.configs.config_type",
        reference=(0,),
        sentence="Kafka describes the type of a setting; the reference broker says UNKNOWN.",
    ),
    Reason(
        name="topic-twice-in-metadata",
        verdict=Verdict.OURS,
        apis=_of(Api.METADATA),
        field="topics (count)",
        notes="the same topic twice",
        sentence="Kafka describes a topic once, even if the request names it twice.",
    ),
    Reason(
        name="invalid-names-in-metadata",
        verdict=Verdict.OURS,
        apis=_of(Api.METADATA),
        field="topics.error_code",
        system=("INVALID_TOPIC_EXCEPTION",),
        reference=("UNKNOWN_TOPIC_OR_PARTITION",),
        sentence="Kafka refuses an invalid topic name; for the reference broker it is unknown.",
    ),
    Reason(
        name="id-of-a-refused-topic",
        verdict=Verdict.OURS,
        apis=_of(Api.CREATE_TOPICS),
        field="topics.topic_id",
        system=(None,),
        sentence="A topic that was not created has no id; the reference broker names one.",
    ),
    Reason(
        name="unknown-topic-before-setting",
        verdict=Verdict.OURS,
        apis=_of(Api.INCREMENTAL_ALTER_CONFIGS),
        field="responses.error_code",
        system=("UNKNOWN_TOPIC_OR_PARTITION",),
        reference=("INVALID_CONFIG",),
        sentence="Kafka looks for the topic before it validates the setting.",
    ),
    Reason(
        name="session-epoch-without-a-session",
        verdict=Verdict.OURS,
        apis=_of(Api.FETCH),
        notes="session epoch without a session",
        sentence="Kafka refuses an epoch of fetch session 0; the reference broker has no sessions.",
    ),
    Reason(
        name="last-fetched-epoch",
        verdict=Verdict.OURS,
        apis=_of(Api.FETCH),
        field="responses.partitions.*",
        notes="last fetched epoch *",
        sentence="Kafka compares the last fetched epoch of a consumer too, not only of a follower.",
    ),
    Reason(
        name="duplicate-append-time",
        verdict=Verdict.OURS,
        apis=_of(Api.PRODUCE),
        field="responses.partition_responses.log_append_time",
        notes="duplicate of *",
        reference=(None,),
        sentence="Kafka answers a duplicate with the time of the batch that it appended.",
    ),
    Reason(
        name="append-time-bit",
        verdict=Verdict.OURS,
        apis=_of(Api.FETCH),
        field="responses.partitions.records.attributes",
        sentence="Kafka clears the bit of LogAppendTime if the topic does not have that type.",
    ),
    Reason(
        name="session-bounds",
        verdict=Verdict.OURS,
        apis=_of(Api.JOIN_GROUP),
        notes="join, session of *",
        ends=True,
        sentence="Kafka bounds the session timeout of a classic member; the reference broker not.",
    ),
    Reason(
        name="empty-group-id",
        verdict=Verdict.OURS,
        apis=_of(Api.LEAVE_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT),
        system=("INVALID_GROUP_ID",),
        field="error_code",
        sentence="Kafka refuses an empty group id; for the reference broker the member is unknown.",
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
)
