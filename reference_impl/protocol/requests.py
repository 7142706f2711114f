"""The unions of all request types and of all response types."""

from __future__ import annotations

from reference_impl.protocol.controller import ControllerRequest, ControllerResponse
from reference_impl.protocol.deletion import DeletedRecords, DeleteRecords
from reference_impl.protocol.group_administration import ListedGroups, ListGroups
from reference_impl.protocol.groups import GroupRequest, GroupResponse
from reference_impl.protocol.inspection import InspectionRequest, InspectionResponse
from reference_impl.protocol.messages import PartitionRequest, PartitionResponse
from reference_impl.protocol.transactions import TransactionRequest, TransactionResponse

Request = (
    PartitionRequest
    | DeleteRecords
    | ControllerRequest
    | TransactionRequest
    | GroupRequest
    | ListGroups
    | InspectionRequest
)
Response = (
    PartitionResponse
    | DeletedRecords
    | ControllerResponse
    | TransactionResponse
    | GroupResponse
    | ListedGroups
    | InspectionResponse
)
