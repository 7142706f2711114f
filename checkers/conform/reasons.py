"""The table of all known differences between Apache Kafka 4.3 and the reference broker (Urteil's
own broker), with their reasons.

`urteil conform` fails if it finds a difference without a row in this table. A test fails if a row
explains no difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from checkers.conform.compare import ABSENT, Difference
from checkers.conform.reason import Reason, Verdict, both_have_the_same_error
from reference_impl.wire.messages.apis import Api

BROKER_CONFIGS: Final = (3, 4)  # dynamic for all brokers, and static
SEGMENT_MS: Final = 604_800_000  # segment.ms, by default a week


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


def _one_keeps_its_share(difference: Difference) -> bool:
    kept, reduced = sorted(
        (difference.system_fields, difference.reference_fields),
        key=lambda cells: cells.get("assignment") is not None,
    )
    # A member that keeps its partitions gets the next epoch at once. A member that gives some up
    # stays in its epoch until it has done so.
    return (
        kept.get("assignment") is None
        and _size(reduced.get("assignment") or {}) > 0
        and kept.get("error_code") == reduced.get("error_code") == "NONE"
        and kept.get("member_epoch") == reduced.get("member_epoch", 0) + 1
    )


def _is_as_large(difference: Difference) -> bool:
    return _size(difference.system_fields) == _size(difference.reference_fields)


def _size(fields: Mapping[str, Any]) -> int:
    topics = fields.get("topic_partitions", [fields])
    return sum(len(topic.get("partitions", ())) for topic in topics)


def _has_another_leader(difference: Difference) -> bool:
    theirs, ours = difference.system_fields, difference.reference_fields
    leaders = theirs.get("leader"), ours.get("leader")
    is_joined = theirs.get("error_code") == ours.get("error_code") == "NONE"
    same = theirs.get("generation_id") == ours.get("generation_id")
    return is_joined and same and all(leaders) and leaders[0] != leaders[1]


def _ends_with_a_segment(difference: Difference) -> bool:
    # A broker may return only batches of one segment.
    theirs = difference.system_fields["records"]
    ours = difference.reference_fields["records"]
    if not theirs or len(theirs) >= len(ours) or theirs != ours[: len(theirs)]:
        return False
    first, following = ours[0], ours[len(theirs)]
    if isinstance(first, str) or isinstance(following, str):  # a batch that is cut or corrupt
        return False
    # Kafka begins a new segment for a batch that is more than segment.ms (a week) younger than the
    # first batch of the last segment.
    return bool(following["records"][0][3] - first["records"][0][3] > SEGMENT_MS)


def _are_clock_times(difference: Difference) -> bool:
    times = difference.system, difference.reference
    return all(isinstance(time, str) and time.startswith("begin") for time in times)


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
        name="share-and-streams-groups",
        verdict=Verdict.PERMITTED,
        apis=_of(*(api for api in Api if "SHARE" in api.name or "STREAMS" in api.name)),
        sentence="Share groups and streams groups are switched on in a new cluster of Kafka; the "
        "reference broker answers as a Kafka that has them switched off.",
    ),
    Reason(
        name="features",
        verdict=Verdict.PERMITTED,
        apis=_of(Api.API_VERSIONS),
        field="*_features*",
        sentence="The reference broker has fewer features than Kafka, and ApiVersions says so.",
    ),
    Reason(
        name="fields-with-a-fetch-error",
        verdict=Verdict.PERMITTED,
        apis=_of(Api.FETCH),
        field="responses.partitions.*",
        when=both_have_the_same_error,
        sentence="If a topic partition has an error, its other fields have no meaning.",
    ),
    Reason(
        name="log-start-with-a-produce-error",
        verdict=Verdict.PERMITTED,
        apis=_of(Api.PRODUCE),
        field="responses.partition_responses.log_start_offset",
        when=_is_error_here,
        sentence="If a topic partition has an error, its log start offset has no meaning.",
    ),
    Reason(
        name="created-configs",
        verdict=Verdict.PERMITTED,
        apis=_of(Api.CREATE_TOPICS),
        field="topics.configs.*",
        reference=(ABSENT,),
        sentence="The reference broker has fewer settings of topics than Kafka.",
    ),
    Reason(
        name="created-broker-defaults",
        verdict=Verdict.PERMITTED,
        apis=_of(Api.CREATE_TOPICS),
        field="topics.configs.*",
        when=_is_broker_default,
        sentence="The default of a new topic's setting is a setting of the brokers.",
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
        name="producer-with-a-transaction-error",
        verdict=Verdict.PERMITTED,
        apis=_of(Api.DESCRIBE_TRANSACTIONS),
        field="transaction_states.producer_id",
        when=both_have_the_same_error,
        sentence="With an error the producer id is 0, which is also the id of a producer in Kafka.",
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
        field="assignment.topic_partitions*",
        when=_is_as_large,
        ends=True,
        sentence="An assignor chooses among balanced assignments; both have the same number.",
    ),
    Reason(
        name="larger-share-among-equals",
        verdict=Verdict.PERMITTED,
        apis=_of(Api.CONSUMER_GROUP_HEARTBEAT),
        when=_one_keeps_its_share,
        ends=True,
        sentence="If partitions do not divide evenly, an assignor chooses who has one more; that "
        "member keeps its partitions, and another one must give one up first.",
    ),
    Reason(
        name="leader-among-equals",
        verdict=Verdict.PERMITTED,
        apis=_of(Api.JOIN_GROUP),
        when=_has_another_leader,
        ends=True,
        sentence="After its leader has left, a group may have any member as leader; Kafka takes "
        "the first key of a HashMap (ClassicGroup.remove).",
    ),
    Reason(
        name="end-of-a-segment",
        verdict=Verdict.PERMITTED,
        apis=_of(Api.FETCH),
        field="responses.partitions.records (count)",
        when=_ends_with_a_segment,
        sentence="A fetch may end with a segment, and a batch a week younger than the first of its "
        "segment begins a new one in Kafka (segment.ms); the reference broker reads on.",
    ),
    Reason(
        name="time-of-an-append",
        verdict=Verdict.PERMITTED,
        apis=_of(Api.PRODUCE, Api.LIST_OFFSETS),
        field="*time*",
        notes="append time*",
        when=_are_clock_times,
        sentence="With LogAppendTime a record has the time of the broker's clock.",
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
    Reason(
        name="assignment-epoch-of-an-empty-group",
        verdict=Verdict.THEIRS,
        apis=_of(Api.CONSUMER_GROUP_DESCRIBE),
        field="groups.assignment_epoch",
        when=_is_empty_group,
        sentence="Kafka does not advance the assignment epoch of an empty group (KAFKA-20442).",
    ),
    # ------------------------------------------------------------ ours to fix
    # Kept: no client sends a batch outside the transaction that its own producer has open, and the
    # leader would have to store an entry for each failed verification (see partition/verification).
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
)
