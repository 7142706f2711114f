"""Lets the clients of the simulation, which otherwise call simulated brokers, use any broker over
TCP.

The table `DIALOGUES` lists the API, the versions and two functions for each type of request: one
function writes the request, and the other function reads the response. The table contains only
versions in which requests contain topic names instead of topic ids. A transactional request uses
only the versions of its transaction protocol (V1 or V2).

Source: Kafka message schemas; KIP-516 (topic ids), KIP-848, KIP-890.
Simplified: A request to read, write or delete records is about one topic partition. There are no
fetch sessions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from model.vocabulary import (
    BrokerId,
)
from reference_impl.protocol.consumer_groups import (
    ConsumerGroupHeartbeat,
)
from reference_impl.protocol.controller import (
    CreateTopic,
    Metadata,
)
from reference_impl.protocol.deletion import DeleteRecords
from reference_impl.protocol.groups import (
    CommitOffsets,
    FetchOffsets,
    HeartbeatGroup,
    JoinGroup,
    LeaveGroup,
    SyncGroup,
)
from reference_impl.protocol.messages import (
    ACKS_NONE,
    Fetch,
    InitProducerId,
    ListOffsets,
    Produce,
)
from reference_impl.protocol.requests import Request, Response
from reference_impl.protocol.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    FindCoordinator,
    TransactionVersion,
)
from reference_impl.wire.clients import groups, records, topics, transactions
from reference_impl.wire.clients.dialogue import Dialogue, Names
from reference_impl.wire.clients.frames import Offered, Range, Writer, chosen_version, response_body
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.messages.apis import Api


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that was written as a frame, and the version of its API. The response has the
    same version.
    """

    request: Request
    api: Api
    version: int

    @property
    def has_response(self) -> bool:
        """True for all requests except Produce with acks=0, to which a broker sends no response."""
        return not (isinstance(self.request, Produce) and self.request.acks == ACKS_NONE)


def request_frame(
    request: Request, correlation: int, offered: Offered, names: Names
) -> tuple[bytes, Sent]:
    """Returns the frame of a request, and the `Sent` that `response_in` needs to read the
    response. Raises NoCommonVersion if the broker offers none of the versions that the client
    writes.
    """
    dialogue = _dialogue(request)
    version = chosen_version(dialogue.api, _versions(request, dialogue.versions), offered)
    writer = Writer(dialogue.api, version)
    values = dialogue.writes(request, writer, names)
    return writer.frame(correlation, **values), Sent(request, dialogue.api, version)


def response_in(sent: Sent, frame: bytes, names: Names) -> Response:
    """Reads the frame `frame`, and returns the response to the request `sent`.

    Raises MalformedFrame if the frame does not follow the schema of the response. Raises
    UnknownError if the response contains an error code that the simulation's clients do not handle.
    """
    body = response_body(sent.api, sent.version, frame)
    return _dialogue(sent.request).reads(sent.request, body, names)


def brokers_in(sent: Sent, frame: bytes) -> dict[BrokerId, Address]:
    """Returns the addresses of the live brokers in the frame of a Metadata response."""
    body = response_body(sent.api, sent.version, frame)
    return {BrokerId(one.node_id): (one.host, one.port) for one in body.brokers}


def _dialogue(request: Request) -> Dialogue:
    if isinstance(request, CommitOffsets) and request.transactional_id is not None:
        return _COMMIT_IN_TRANSACTION
    return DIALOGUES[type(request)]


def _versions(request: Request, versions: Range) -> Range:
    # KIP-890: transaction protocol V2 has the newer versions, V1 the earlier ones.
    first, last = versions
    match request:
        case Produce(transactional_id=str(), adds_partition=False, knows_abortable=False):
            is_new, since = False, 11
        case Produce(transactional_id=str(), adds_partition=adds):
            is_new, since = adds, 12
        case EndTxn(version=version):
            is_new, since = version is TransactionVersion.V2, 5
        case CommitOffsets(transactional_id=str(), adds_partition=False, knows_abortable=False):
            is_new, since = False, 4
        case CommitOffsets(transactional_id=str(), adds_partition=adds):
            is_new, since = adds, 5
        case _:
            return versions
    return (since, last) if is_new else (first, since - 1)


# SyncGroup 5 demands the protocol, which the typed request has not (KIP-559).
# Above the last version of Produce, Fetch, OffsetCommit and OffsetFetch topics have ids, or there
# are several groups; FindCoordinator and AddPartitionsToTxn 4 are batched, LeaveGroup is so from 3.
DIALOGUES: Final[dict[type[Any], Dialogue]] = {
    Produce: Dialogue(Api.PRODUCE, (3, 12), records.produce, records.produced),
    Fetch: Dialogue(Api.FETCH, (4, 12), records.fetch, records.fetched),
    ListOffsets: Dialogue(Api.LIST_OFFSETS, (2, 7), records.list_offsets, records.listed_offsets),
    DeleteRecords: Dialogue(
        Api.DELETE_RECORDS, (0, 2), records.delete_records, records.deleted_records
    ),
    Metadata: Dialogue(Api.METADATA, (4, 12), topics.metadata, topics.described_metadata),
    CreateTopic: Dialogue(Api.CREATE_TOPICS, (2, 7), topics.create_topic, topics.created_topic),
    InitProducerId: Dialogue(
        Api.INIT_PRODUCER_ID, (0, 5), transactions.init_producer_id, transactions.initialized
    ),
    FindCoordinator: Dialogue(
        Api.FIND_COORDINATOR, (1, 3), transactions.find_coordinator, transactions.found_coordinator
    ),
    AddPartitionsToTxn: Dialogue(
        Api.ADD_PARTITIONS_TO_TXN,
        (0, 3),
        transactions.add_partitions,
        transactions.added_partitions,
    ),
    AddOffsetsToTxn: Dialogue(
        Api.ADD_OFFSETS_TO_TXN, (0, 4), transactions.add_offsets, transactions.added_offsets
    ),
    EndTxn: Dialogue(Api.END_TXN, (0, 5), transactions.end_txn, transactions.ended_txn),
    CommitOffsets: Dialogue(
        Api.OFFSET_COMMIT, (2, 9), groups.commit_offsets, groups.committed_offsets
    ),
    FetchOffsets: Dialogue(Api.OFFSET_FETCH, (2, 7), groups.fetch_offsets, groups.fetched_offsets),
    JoinGroup: Dialogue(Api.JOIN_GROUP, (4, 9), groups.join_group, groups.joined_group),
    SyncGroup: Dialogue(Api.SYNC_GROUP, (0, 4), groups.sync_group, groups.synced_group),
    HeartbeatGroup: Dialogue(Api.HEARTBEAT, (0, 4), groups.heartbeat, groups.heartbeated),
    LeaveGroup: Dialogue(Api.LEAVE_GROUP, (3, 5), groups.leave_group, groups.left_group),
    ConsumerGroupHeartbeat: Dialogue(
        Api.CONSUMER_GROUP_HEARTBEAT, (0, 1), groups.consumer_heartbeat, groups.consumer_heartbeated
    ),
}
_COMMIT_IN_TRANSACTION: Final = Dialogue(
    Api.TXN_OFFSET_COMMIT, (0, 5), groups.commit_in_transaction, groups.committed_offsets
)
