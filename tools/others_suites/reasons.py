"""The reason for each failed test of docs/others-suites.md.

An Apache Kafka that has no authorizer and no share groups would fail each test for the same reason.
A test checks that exactly the failed tests have a reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

ABORTS_FIRST: Final = (
    "The new producer finds an open transaction. Kafka aborts it and answers"
    " CONCURRENT_TRANSACTIONS, and the client asks again; kfake aborts it at once."
)
FILES: Final = "The test looks for files that only kfake writes."
KFAKE_SETTING: Final = "The test starts the broker with a setting that only kfake has."
NUMBERS: Final = "The test names broker 0; the served brokers are numbered from 1."
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
SHARED: Final = (
    ABORTS_FIRST,
    IDLE_PRODUCERS,
    NEW_CLUSTER,
    FILES,
    KFAKE_SETTING,
    NUMBERS,
    SHARE,
)

_CONFLUENT: Final[Mapping[str, str]] = {
    "test_basic_operations::test_basic_operations": (
        "A step of the test needs ACLs. The served broker has no access control, and answers as a"
        " Kafka without an authorizer."
    ),
    "test_describe_operations::test_describe_operations[sasl_cluster0]": (
        "The test restricts operations by ACLs. The served broker has no access control, and"
        " answers as a Kafka without an authorizer."
    ),
}
_KFAKE: Final[Mapping[str, str]] = {
    "TestPersistBrokerConfigsRestart": (
        "The test names broker 0; the served brokers are numbered from 1. It also wants a setting"
        " of the first start after a second start without it; Kafka does not keep such settings."
    ),
    "TestIncrementalAlterConfigAppendSubtract": (
        "The test wants INVALID_REQUEST for APPEND to a setting that is no list. Kafka answers"
        " INVALID_CONFIG (ConfigurationControlManager.incrementalAlterConfigResource)."
    ),
    "TestGroupMaxSize848": (
        "The test limits a KIP-848 group by group.max.size, which Kafka reads for classic groups"
        " only. It also joins without a member id, which Kafka refuses (KIP-1082)."
    ),
    "TestFetchSessionEviction": (
        "The test wants a new session to replace one in use. Kafka replaces a session of the same"
        " size only after two minutes (min.incremental.fetch.session.eviction.ms)."
    ),
    "TestAlterReplicaLogDirsMovesPartition": (
        "The test moves a replica to a folder that no broker has. Kafka answers LOG_DIR_NOT_FOUND."
    ),
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
    "TestCreateTopicsEdgeCases": NUMBERS,
    "TestCreatePartitionsWithExplicitAssignment": NUMBERS,
    "TestCreateTopicsReplicaAssignment": NUMBERS,
    "TestApiVersionsLiteralRequest": (
        "The test needs version 5 of ApiVersions; Kafka 4.3.0 has versions 0 to 4."
    ),
    "TestClientMetricsSubscriptions": (
        "The test wants INVALID_CONFIG for a setting without a value. Kafka answers INVALID_REQUEST"
        " (ConfigAdminManager.preprocess)."
    ),
    "TestDescribeProducersShowsActiveTransaction": IDLE_PRODUCERS,
    "TestDescribeProducersAfterCommit": IDLE_PRODUCERS,
    "Test848EmptyGroupDescribe": NEW_CLUSTER,
    "TestFenceBeforeProducerCommit": ABORTS_FIRST,
    "TestTxnInitProducerIDAbortOngoing": ABORTS_FIRST,
    "TestTxnInitProducerIDStaleEpochRecovery": (
        "The producer repeats the request that raised its epoch. Kafka answers with the same epoch"
        " again (KIP-360); kfake raises it once more."
    ),
    "TestTxnDescribeTransactions": (
        "The test wants the state Empty after a commit; in Kafka the state is CompleteCommit."
    ),
    "TestDescribeShareGroupOffsetsNotFound": SHARE,
    "TestDeleteTopicDropsGroupCommits": NUMBERS,
    "TestDescribeTopicPartitionsCursor": (
        "The cursor names a topic that the request lacks. Kafka answers INVALID_REQUEST for each"
        " topic; the test wants no response."
    ),
    "TestElectLeaders": (
        "The leader is the preferred one already, so Kafka answers ELECTION_NOT_NEEDED. kfake"
        " answers with no error."
    ),
    "TestIssue1330": SHARE,
    "TestOffsetExpiration": KFAKE_SETTING,
    "TestOffsetExpirationActiveGroup": KFAKE_SETTING,
    "TestPersistLogCompaction": KFAKE_SETTING,
    "TestPersistLogCompactionCrashGroups": KFAKE_SETTING,
    "TestPersistLogCompactionCrashPIDs": KFAKE_SETTING,
    "TestPersistProduceCloseReopen": FILES,
    "TestPersistSessionStateClassicGroup": FILES,
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
    return REASONS.get((suite, test))
