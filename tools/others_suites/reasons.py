"""The reason for each failed test of docs/others-suites.md.

A reason that begins with `Open` is a difference between the served broker and Apache Kafka. Any
other reason is no fault of the served broker. A test checks that every failed test has a reason,
and that no other test has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

ABORTS_FIRST: Final = (
    "The new producer finds an open transaction. Kafka aborts it and answers"
    " CONCURRENT_TRANSACTIONS, and the client asks again; kfake aborts it at once."
)
COMPRESSION: Final = (
    "Open: topics have no `compression.type`. A later step of the test needs settings or ACLs that"
    " the served broker does not have, either."
)
FILES: Final = "The test looks for files that only kfake writes."
KFAKE_SETTING: Final = "The test starts the broker with a setting that only kfake has."
NUMBERS: Final = "The test names broker 0; the served brokers are numbered from 1."
SETTING: Final = "Open: `--broker-config` does not have the setting with which the test starts."
SHARE: Final = (
    "The test needs share groups (KIP-932), which the served broker has switched off, as a Kafka"
    " with share.version=0."
)
IDLE_PRODUCERS: Final = (
    "The test wants no producer after the commit. Kafka lists a producer until its state expires,"
    " then without an open transaction."
)
NEW_CLUSTER: Final = (
    "The test does not wait until `__consumer_offsets` is created, as Kafka demands in a new"
    " cluster."
)
OPERATIONS: Final = "Open: descriptions have no authorized operations."
SHARED: Final = (
    ABORTS_FIRST,
    IDLE_PRODUCERS,
    NEW_CLUSTER,
    OPERATIONS,
    COMPRESSION,
    FILES,
    KFAKE_SETTING,
    NUMBERS,
    SETTING,
    SHARE,
)

_CONFLUENT: Final[Mapping[str, str]] = {
    "test_basic_operations::test_basic_operations": COMPRESSION,
    "test_incremental_alter_configs::test_incremental_alter_configs": COMPRESSION,
    "test_describe_operations::test_describe_operations[sasl_cluster0]": (
        "The test restricts operations by ACLs, which the served broker does not have. Open: its"
        " descriptions have no authorized operations."
    ),
}
_KFAKE: Final[Mapping[str, str]] = {
    "Test848RebalanceTimeout": (
        "The test joins without a member id in version 1 of ConsumerGroupHeartbeat. Kafka refuses"
        " that, too (KIP-1082)."
    ),
    "Test848UnsupportedAssignor": (
        "The test does not wait until `__consumer_offsets` is created, as Kafka demands of a new"
        " cluster. It also joins without a member id, which Kafka refuses (KIP-1082)."
    ),
    "TestAlterConfigsAppliesAndReadsBack": (
        "AlterConfigs replaces all settings, so it removes min.insync.replicas. With eligible"
        " leader replicas Kafka refuses that."
    ),
    "TestAlterPartitionAssignments": NUMBERS,
    "TestCreatePartitionsWithExplicitAssignment": NUMBERS,
    "TestCreateTopicsReplicaAssignment": NUMBERS,
    "TestAlterReplicaLogDirsMovesPartition": "Open: AlterReplicaLogDirs is not served.",
    "TestApiVersionsLiteralRequest": (
        "The test needs version 5 of ApiVersions; Kafka 4.3.0 has versions 0 to 4."
    ),
    "TestClassicPendingSyncTimeout": (
        "Open: a member that sends no SyncGroup is removed after its session timeout; Kafka removes"
        " it after the rebalance timeout."
    ),
    "TestClientMetricsSubscriptions": "Open: the settings of client metrics are refused (KIP-714).",
    "TestCompactBackgroundTicker": SETTING,
    "TestCreateTopicsEdgeCases": "Open: `num.partitions` of the served broker is always 1.",
    "TestDescribeProducersShowsActiveTransaction": IDLE_PRODUCERS,
    "TestDescribeProducersAfterCommit": IDLE_PRODUCERS,
    "Test848DescribeGroup": OPERATIONS,
    "Test848EmptyGroupDescribe": NEW_CLUSTER,
    "TestFenceBeforeProducerCommit": ABORTS_FIRST,
    "TestTxnInitProducerIDAbortOngoing": ABORTS_FIRST,
    "TestTxnInitProducerIDMaxTimeout": SETTING,
    "TestTxnInitProducerIDStaleEpochRecovery": (
        "The producer repeats the request that raised its epoch. Kafka answers with the same epoch"
        " again (KIP-360); kfake raises it once more."
    ),
    "TestTxnDescribeTransactions": (
        "The test wants the state Empty after a commit; in Kafka the state is CompleteCommit."
    ),
    "TestGroupMaxSize848": SETTING,
    "TestGroupMaxSizeClassic": SETTING,
    "TestDescribeShareGroupOffsetsNotFound": SHARE,
    "TestDeleteTopicDropsGroupCommits": NUMBERS,
    "TestIssue1281": (
        "Open: the records have the offset deltas 0, 0, 0. The served broker refuses such batches;"
        " Kafka appends them (docs/limits.md)."
    ),
    "TestDescribeTopicPartitionsCursor": (
        "The cursor names a topic that the request lacks. Kafka answers INVALID_REQUEST for each"
        " topic; the test wants no response."
    ),
    "TestElectLeaders": (
        "The leader is the preferred one already, so Kafka answers ELECTION_NOT_NEEDED. kfake"
        " answers with no error."
    ),
    "TestFetchSessionEviction": SETTING,
    "TestIncrementalAlterConfigAppendSubtract": (
        "Open: APPEND and SUBTRACT are refused for the lists of a topic's settings."
    ),
    "TestIssue1330": SHARE,
    "TestOffsetExpiration": KFAKE_SETTING,
    "TestOffsetExpirationActiveGroup": KFAKE_SETTING,
    "TestPersistBrokerConfigsRestart": SETTING,
    "TestPersistLogCompaction": KFAKE_SETTING,
    "TestPersistLogCompactionCrashGroups": KFAKE_SETTING,
    "TestPersistLogCompactionCrashPIDs": KFAKE_SETTING,
    "TestPersistProduceCloseReopen": FILES,
    "TestPersistSessionStateClassicGroup": FILES,
    "TestPersistQuotasRestart": "Open: AlterClientQuotas is not served.",
    "TestPersistSegmentRollover": (
        "The test starts the broker with log.segment.bytes=100; Kafka refuses less than 1 MiB."
    ),
    "TestSCRAMValidationErrors": (
        "The test deletes a user that does not exist. Kafka answers RESOURCE_NOT_FOUND before it"
        " looks for names that occur twice (ScramControlManager.alterCredentials)."
    ),
    "TestShareGroupDeleteGroups": SHARE,
    "TestShareGroupTypeExclusive": SHARE,
    "TestShareHeartbeatAssignmentDelivery": SHARE,
    "TestStreamingCompressionRandom": (
        "The records have timestamps up to three days ahead. Kafka refuses more than an hour"
        " (message.timestamp.after.max.ms)."
    ),
}
_KGO: Final[Mapping[str, str]] = {
    "TestShareGroup": SHARE,
    "TestShareGroupAckOnClose": SHARE,
    "TestShareGroupETL": SHARE,
    "TestShareGroupOffsetsAdmin": SHARE,
}
REASONS: Final[Mapping[tuple[str, str], str]] = {
    (suite, test): text
    for suite, tests in (("confluent-kafka", _CONFLUENT), ("kfake", _KFAKE), ("kgo", _KGO))
    for test, text in tests.items()
}


def reason(suite: str, test: str) -> str | None:
    """Returns the reason why a test fails; None if there is none."""
    return REASONS.get((suite, test))
