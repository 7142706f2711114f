"""Hypothesis strategies: each request that a client may send, with a response to the request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from model.vocabulary import (
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    Offset,
    PartitionEpoch,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
)
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.protocol.consumer_groups import (
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeated,
)
from reference_impl.protocol.controller import (
    BrokerState,
    CreatedTopic,
    CreateTopic,
    MetadataImage,
    PartitionState,
)
from reference_impl.protocol.deletion import DeletedRecords, DeleteRecords
from reference_impl.protocol.groups import (
    CommitOffsets,
    CommittedOffset,
    CommittedOffsets,
    FetchedOffsets,
    FetchOffsets,
    HeartbeatedGroup,
    HeartbeatGroup,
    JoinedGroup,
    JoinGroup,
    LeaveGroup,
    LeftGroup,
    SyncedGroup,
    SyncGroup,
)
from reference_impl.protocol.messages import (
    AbortedTransaction,
    ErrorCode,
    Fetch,
    Fetched,
    InitializedProducerId,
    InitProducerId,
    ListedOffsets,
    ListOffsets,
    Produce,
    Produced,
)
from reference_impl.protocol.topic_config import LogConfig
from reference_impl.protocol.transactions import (
    AddedOffsetsToTxn,
    AddedPartitionsToTxn,
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndedTxn,
    EndTxn,
    FindCoordinator,
    FoundCoordinator,
    TransactionVersion,
    TxnResult,
)
from reference_impl.wire.clients.dialogue import ALIKE
from reference_impl.wire.messages.versions import VERSIONS

PLACE = TopicPartition("orders", 0)
OF_TOPIC = ("min_insync_replicas", "unclean_leader_election")
STATE = PartitionState(
    replicas=(BrokerId(1), BrokerId(2)),
    isr=(BrokerId(2),),
    leader=BrokerId(2),
    leader_epoch=LeaderEpoch(7),
    partition_epoch=PartitionEpoch(-1),
)
IMAGE = MetadataImage(
    brokers=(BrokerState(broker_id=BrokerId(2), broker_epoch=BrokerEpoch(-1), fenced=False),),
    topic_partitions=((PLACE, STATE),),
)
ALL: dict[int, tuple[int, int]] = {
    api: (range_.first_answered, range_.last) for api, range_ in VERSIONS.items()
}

names = st.text("abc", min_size=1, max_size=4)
ids = st.integers(0, 2**40).map(ProducerId)
epochs = st.integers(0, 2**15 - 1).map(ProducerEpoch)
offsets = st.integers(0, 2**50).map(Offset)
durations = st.integers(0, 60_000)
# The client takes an unknown topic id for an unknown topic.
errors = st.sampled_from([error for error in ErrorCode if error not in ALIKE])
producers = {"transactional_id": names, "producer_id": ids, "producer_epoch": epochs}
committed = st.builds(
    CommittedOffset,
    offset=offsets,
    leader_epoch=st.integers(0, 9).map(LeaderEpoch),
    metadata=names,
)
many = st.lists(st.tuples(names, st.integers(0, 3)), max_size=4, unique=True).map(
    lambda rows: tuple(TopicPartition(*row) for row in sorted(rows))
)

EXCHANGES: dict[str, tuple[st.SearchStrategy[Any], st.SearchStrategy[Any]]] = {
    "Produce": (
        st.builds(
            Produce,
            topic_partition=st.just(PLACE),
            batches=st.binary(min_size=1),
            acks=st.sampled_from((-1, 1)),
            timeout_ms=durations,
            adds_partition=st.just(True),
            knows_abortable=st.just(True),
        ),
        st.builds(Produced, error=errors, base_offset=offsets, log_start_offset=offsets),
    ),
    "Fetch": (
        st.builds(
            Fetch,
            topic_partition=st.just(PLACE),
            fetch_offset=offsets,
            max_bytes=st.integers(1, 9_999),
            read_committed=st.booleans(),
            any_replica=st.just(True),
            cuts_last=st.just(True),
        ),
        st.builds(
            Fetched,
            topic_partition=st.just(PLACE),
            error=errors,
            high_watermark=offsets,
            last_stable_offset=offsets,
            log_start_offset=offsets,
            batches=st.just(encode([Record(value=b"v")])),
            aborted=st.tuples(st.builds(AbortedTransaction, producer_id=ids, first_offset=offsets)),
        ),
    ),
    "ListOffsets": (
        st.builds(
            ListOffsets,
            topic_partition=st.just(PLACE),
            timestamp=st.sampled_from((-1, -2, 12)),
            read_committed=st.booleans(),
        ),
        st.builds(
            ListedOffsets,
            error=errors,
            offset=offsets,
            timestamp=st.integers(-1, 99),
            leader_epoch=st.integers(0, 9).map(LeaderEpoch),
        ),
    ),
    "DeleteRecords": (
        st.builds(
            DeleteRecords, topic_partition=st.just(PLACE), before=offsets, timeout_ms=durations
        ),
        st.builds(
            DeletedRecords, topic_partition=st.just(PLACE), error=errors, low_watermark=offsets
        ),
    ),
    "CreateTopic": (
        st.builds(
            CreateTopic,
            topic=names,
            topic_partitions=st.integers(1, 9),
            replication_factor=st.integers(1, 3),
            min_insync_replicas=st.integers(1, 3),
            unclean_leader_election=st.booleans(),
            log_config=st.builds(
                LogConfig, retention_ms=st.integers(-1, 99), segment_bytes=st.integers(14, 999)
            ),
        ),
        st.builds(CreatedTopic, error=errors, message=st.just("")),
    ),
    "InitProducerId": (
        st.builds(
            InitProducerId,
            transactional_id=st.none() | names,
            timeout_ms=durations,
            producer_id=ids,
            producer_epoch=epochs,
        ),
        st.builds(InitializedProducerId, error=errors, producer_id=ids, producer_epoch=epochs),
    ),
    "FindCoordinator": (
        st.builds(FindCoordinator, key=names, is_transactional=st.booleans()),
        st.builds(FoundCoordinator, error=errors, broker_id=st.sampled_from((BrokerId(2),))),
    ),
    "AddPartitionsToTxn": (
        st.builds(AddPartitionsToTxn, **producers, topic_partitions=st.just((PLACE,))),
        st.builds(AddedPartitionsToTxn, topic_partitions=st.just((PLACE,)), error=errors),
    ),
    "AddOffsetsToTxn": (
        st.builds(AddOffsetsToTxn, **producers, group=names),
        st.builds(AddedOffsetsToTxn, error=errors),
    ),
    "EndTxn": (
        st.builds(EndTxn, **producers, result=st.sampled_from(TxnResult)),
        st.builds(EndedTxn, error=errors),
    ),
    "EndTxn of KIP-890": (
        st.builds(
            EndTxn,
            **producers,
            result=st.sampled_from(TxnResult),
            version=st.just(TransactionVersion.V2),
        ),
        st.builds(EndedTxn, error=errors, producer_id=ids, producer_epoch=epochs),
    ),
    "CommitOffsets": (
        st.builds(
            CommitOffsets,
            group=names,
            generation=st.integers(-1, 9),
            member_id=names,
            instance_id=st.none() | names,
            offsets=st.tuples(st.tuples(st.just(PLACE), committed)),
        ),
        st.builds(CommittedOffsets, error=errors),
    ),
    "CommitOffsets in a transaction": (
        st.builds(
            CommitOffsets,
            **producers,
            group=names,
            generation=st.integers(-1, 9),
            member_id=names,
            adds_partition=st.booleans(),
            knows_abortable=st.booleans(),
            offsets=st.tuples(st.tuples(st.just(PLACE), committed)),
        ).map(lambda it: replace(it, knows_abortable=it.knows_abortable or it.adds_partition)),
        st.builds(CommittedOffsets, error=errors),
    ),
    "FetchOffsets": (
        st.builds(
            FetchOffsets,
            group=names,
            topic_partitions=st.just((PLACE,)),
            require_stable=st.booleans(),
        ),
        st.builds(
            FetchedOffsets,
            offsets=st.tuples(st.tuples(st.just(PLACE), st.none() | committed, errors)),
        ),
    ),
    "JoinGroup": (
        st.builds(
            JoinGroup,
            group=names,
            member_id=names,
            instance_id=st.none() | names,
            client_id=st.just("urteil"),
            session_timeout_ms=durations,
            rebalance_timeout_ms=durations,
            protocols=st.tuples(st.tuples(names, st.binary())),
        ),
        st.builds(
            JoinedGroup,
            error=errors,
            generation=st.integers(0, 9),
            protocol_type=names,
            protocol=names,
            leader=names,
            member_id=names,
            members=st.tuples(st.tuples(names, st.none() | names, st.binary())),
            skips_assignment=st.booleans(),
        ),
    ),
    "SyncGroup": (
        st.builds(
            SyncGroup,
            group=names,
            generation=st.integers(0, 9),
            member_id=names,
            instance_id=st.none() | names,
            assignments=st.tuples(st.tuples(names, st.binary())),
        ),
        st.builds(
            SyncedGroup,
            error=errors,
            assignment=st.binary(),
        ),
    ),
    "HeartbeatGroup": (
        st.builds(HeartbeatGroup, group=names, generation=st.integers(0, 9), member_id=names),
        st.builds(HeartbeatedGroup, error=errors),
    ),
    "LeaveGroup": (
        st.builds(LeaveGroup, group=names, members=st.tuples(st.tuples(names, st.none() | names))),
        st.builds(
            LeftGroup,
            error=errors,
            members=st.tuples(st.tuples(names, st.none() | names, errors)),
        ),
    ),
    "ConsumerGroupHeartbeat": (
        st.builds(
            ConsumerGroupHeartbeat,
            group=names,
            member_epoch=st.integers(-2, 9),
            member_id=names,
            client_id=st.just("urteil"),
            instance_id=st.none() | names,
            rebalance_timeout_ms=st.none() | durations,
            topics=st.none() | st.tuples(names),
            assignor=st.none() | names,
            owned=st.none() | st.just((PLACE,)),
        ),
        st.builds(
            ConsumerGroupHeartbeated,
            error=errors,
            member_id=names,
            member_epoch=st.integers(0, 9),
            heartbeat_ms=durations,
            assignment=st.none() | st.just((PLACE,)),
        ),
    ),
}
