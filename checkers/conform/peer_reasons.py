"""The reasons for which the answers of kfake and of librdkafka's mock cluster differ from the
answers of Apache Kafka 4.3.

The comparison uses the reference broker in place of Kafka, because the reference broker answers as
Kafka 4.3 does. So each difference is a finding about kfake or the mock cluster. kfake and the mock
cluster each have a table of reasons. A difference has the reason of the first row that matches. A
table ends with one general reason for each request type.

Source: github.com/twmb/franz-go, pkg/kfake; librdkafka, rdkafka_mock_handlers.c.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from checkers.conform.compare import Difference
from checkers.conform.connection import CLOSED
from checkers.conform.left_out import LIBRDKAFKA_MOCK
from checkers.conform.normal import CUT_BATCH
from checkers.conform.reason import Reason, Verdict
from checkers.conform.reasons import REASONS
from checkers.conform.session import PENDING
from checkers.conform.steps import READS
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.versions import VERSIONS

KFAKE: Final = "kfake"
EVERY: Final = frozenset(VERSIONS)
FENCED: Final = ("PRODUCER_FENCED",)


def _of(*apis: Api) -> frozenset[Api]:
    return frozenset(apis)


def _is_unreadable(difference: Difference) -> bool:
    return isinstance(difference.system, str) and difference.system.startswith("unreadable")


def _errors_differ(difference: Difference) -> bool:
    theirs, ours = (
        fields.get("error_code", "NONE")
        for fields in (difference.system_fields, difference.reference_fields)
    )
    return theirs != ours and not difference.field.endswith("error_code")


def _reference_has_an_error(difference: Difference) -> bool:
    return bool(difference.reference_fields.get("error_code", "NONE") != "NONE")


def _lacks_the_cut_batch(difference: Difference) -> bool:
    theirs = difference.system_fields["records"]
    *whole, last = difference.reference_fields["records"] or [None]
    # The reference broker cuts a batch that exceeds the fetch's byte limit.
    return bool(last == CUT_BATCH and theirs == whole)


def _is_one_less(difference: Difference) -> bool:
    return isinstance(difference.reference, int) and difference.system == difference.reference - 1


def _permitted(name: str, *apis: Api, sentence: str, **options: Any) -> Reason:
    row: dict[str, Any] = {"apis": _of(*apis) or EVERY, **options}
    return Reason(name=name, verdict=Verdict.PERMITTED, sentence=sentence, **row)


def _theirs(name: str, *apis: Api, sentence: str, **options: Any) -> Reason:
    row: dict[str, Any] = {"apis": _of(*apis) or EVERY, **options}
    return Reason(name=name, verdict=Verdict.THEIRS, sentence=sentence, **row)


COMMON: Final[tuple[Reason, ...]] = (
    *(row for row in REASONS if row.verdict is Verdict.PERMITTED),
    _permitted(
        "offered-versions",
        Api.API_VERSIONS,
        field="api_keys.*",
        sentence="A system offers the requests and versions that it has.",
    ),
    _permitted(
        "null-for-no-aborted-transaction",
        Api.FETCH,
        field="*aborted_transactions",
        system=(None, []),
        reference=(None, []),
        sentence="Clients read a missing list of aborted transactions as an empty one.",
    ),
    _permitted(
        "batch-at-the-limit",
        Api.FETCH,
        field="*records (count)",
        notes="*max_bytes*",
        when=_lacks_the_cut_batch,
        sentence="A broker may leave out the batch that the limit of a fetch would cut.",
    ),
    _permitted(
        "fields-with-an-error",
        field="*",
        when=lambda one: _reference_has_an_error(one) and not one.field.endswith("error_code"),
        sentence="If there is an error, the other fields have no meaning.",
    ),
)

KFAKE_ROWS: Final[tuple[Reason, ...]] = (
    _permitted(
        "first-epoch",
        Api.CONSUMER_GROUP_HEARTBEAT,
        Api.CONSUMER_GROUP_DESCRIBE,
        field="*epoch",
        when=_is_one_less,
        sentence="The epochs of a group may begin with any number; those of kfake begin with 1.",
    ),
    _permitted(
        "fewer-settings",
        Api.DESCRIBE_CONFIGS,
        field="results.configs.*",
        sentence="kfake has fewer settings of topics, and knows no types of them.",
    ),
    _theirs(
        "leader-hint-in-old-fetch",
        Api.FETCH,
        field="",
        versions=range(12, 16),
        when=_is_unreadable,
        sentence="Fetch 12 to 15 of kfake has a tagged field that only Fetch 16 defines (KIP-951).",
    ),
    _theirs(
        "no-fetch-from-a-follower",
        Api.FETCH,
        notes="*at a follower",
        sentence="A follower of kfake serves no consumer (KIP-392), whatever the leader epoch.",
    ),
    _theirs(
        "last-fetched-epoch-ignored",
        Api.FETCH,
        notes="last fetched epoch*",
        sentence="kfake ignores the last fetched epoch, so a truncation is not noticed (KIP-595).",
    ),
    _theirs(
        "unknown-topic-id-of-a-fetch",
        Api.FETCH,
        notes="unknown topic",
        sentence="kfake answers the fetch of an unknown topic as if it had one.",
    ),
    _theirs(
        "topic-names-unchecked",
        Api.CREATE_TOPICS,
        Api.METADATA,
        reference=("INVALID_TOPIC_EXCEPTION", 0),
        notes="*name*",
        ends=True,
        sentence="kfake creates topics with invalid names.",
    ),
    _theirs(
        "topic-shapes-unchecked",
        Api.CREATE_TOPICS,
        Api.CREATE_PARTITIONS,
        system=("NONE", "TOPIC_ALREADY_EXISTS"),
        reference=("INVALID_PARTITIONS", "INVALID_REPLICATION_FACTOR", "INVALID_TOPIC_EXCEPTION"),
        ends=True,
        sentence="kfake checks neither the partitions and replicas of a new topic nor its name.",
    ),
    _theirs(
        "settings-unchecked",
        Api.CREATE_TOPICS,
        Api.INCREMENTAL_ALTER_CONFIGS,
        system=("NONE",),
        reference=("INVALID_CONFIG",),
        ends=True,
        sentence="kfake accepts settings that do not exist, and values that are out of range.",
    ),
    _theirs(
        "metadata-unbounded",
        Api.OFFSET_COMMIT,
        reference=("OFFSET_METADATA_TOO_LARGE",),
        ends=True,
        sentence="kfake does not bound the metadata of a committed offset.",
    ),
    _theirs(
        "group-not-found",
        Api.OFFSET_FETCH,
        Api.LEAVE_GROUP,
        system=("GROUP_ID_NOT_FOUND",),
        reference=("NONE",),
        sentence="kfake answers GROUP_ID_NOT_FOUND where Kafka names no offset, or each member.",
    ),
    _theirs(
        "end-of-no-epoch",
        Api.OFFSET_FOR_LEADER_EPOCH,
        field="*end_offset",
        notes="epoch -1*",
        sentence="kfake gives the leader epoch -1 an end offset.",
    ),
    _theirs(
        "acks-0-stays-open",
        Api.API_VERSIONS,
        field="",
        notes="after acks=0*",
        reference=(CLOSED,),
        sentence="kfake keeps a connection open after a Produce with acks=0 has failed.",
    ),
    _theirs(
        "no-verification",
        Api.ADD_PARTITIONS_TO_TXN,
        notes="verify*",
        sentence="kfake does not answer the verification of a transaction (KIP-890).",
    ),
    _theirs(
        "fenced-for-old-clients",
        Api.ADD_PARTITIONS_TO_TXN,
        Api.ADD_OFFSETS_TO_TXN,
        Api.END_TXN,
        Api.INIT_PRODUCER_ID,
        Api.TXN_OFFSET_COMMIT,
        system=FENCED,
        reference=("INVALID_PRODUCER_EPOCH",),
        sentence="kfake answers PRODUCER_FENCED to versions that do not know it (KIP-360).",
    ),
    _theirs(
        "records-unchecked",
        Api.PRODUCE,
        system=("NONE",),
        reference=("INVALID_TIMESTAMP", "INVALID_RECORD", "MESSAGE_TOO_LARGE"),
        ends=True,
        sentence="kfake appends records that are too large, malformed or two hours in the future.",
    ),
    _theirs(
        "batch-errors",
        Api.PRODUCE,
        system=("CORRUPT_MESSAGE",),
        sentence="kfake answers CORRUPT_MESSAGE to each batch that it does not accept.",
    ),
    _theirs(
        "unknown-producer-begins-with-0",
        Api.PRODUCE,
        system=("OUT_OF_ORDER_SEQUENCE_NUMBER",),
        reference=("NONE",),
        ends=True,
        sentence="kfake wants the sequence 0 of a producer that it does not know.",
    ),
)

MOCK_ROWS: Final[tuple[Reason, ...]] = (
    _permitted(
        "topics-by-metadata",
        Api.METADATA,
        sentence="The mock has no CreateTopics: a request for metadata creates a topic of four "
        "partitions.",
    ),
    _permitted(
        "initial-rebalance-delay",
        Api.JOIN_GROUP,
        system=(PENDING,),
        ends=True,
        sentence="The mock waits three seconds for the members of a first generation.",
    ),
    _theirs(
        "append-time-1234",
        Api.PRODUCE,
        field="*log_append_time",
        system=(1234,),
        sentence="The mock answers the append time 1234, though the producer sets the times.",
    ),
    _theirs(
        "incomplete-response",
        field="",
        when=_is_unreadable,
        sentence="Some responses of the mock end too early, or have a null that is not allowed.",
    ),
    _theirs(
        "nothing-verified",
        Api.PRODUCE,
        system=("NONE",),
        ends=True,
        sentence="The mock appends batches that Kafka refuses, and verifies no transaction.",
    ),
    _theirs(
        "commits-unchecked",
        Api.OFFSET_COMMIT,
        system=("NONE",),
        ends=True,
        sentence="The mock accepts a commit without a group, or with too much metadata.",
    ),
)


def _others(peer: str) -> tuple[Reason, ...]:
    return (
        _theirs(
            "follows-from-another-error",
            when=_errors_differ,
            general=True,
            sentence="If the errors differ, other fields differ too; the error has its own row.",
        ),
        *(
            _theirs(
                f"other-{api.name.lower().replace('_', '-')}",
                api,
                ends=api not in READS,
                general=True,
                sentence=f"{peer} answers {api.name} otherwise in further cases.",
            )
            for api in sorted(VERSIONS)
        ),
    )


PEERS: Final = {
    KFAKE: (*COMMON, *KFAKE_ROWS, *_others(KFAKE)),
    LIBRDKAFKA_MOCK: (*COMMON, *MOCK_ROWS, *_others("The mock")),
}


def reasons_of(system: str) -> Sequence[Reason]:
    """Returns the known reasons for differences between `system` and the reference broker. If
    `system` has no table of its own, returns the reasons for Apache Kafka.
    """
    return PEERS.get(system, REASONS)
