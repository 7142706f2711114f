"""Every request that a node may be asked, and every response."""

from __future__ import annotations

from reference_impl.controller_messages import ControllerRequest, ControllerResponse
from reference_impl.deletion_messages import DeletedRecords, DeleteRecords
from reference_impl.group_messages import GroupRequest, GroupResponse
from reference_impl.messages import PartitionRequest, PartitionResponse
from reference_impl.transaction_messages import TransactionRequest, TransactionResponse

Request = PartitionRequest | DeleteRecords | ControllerRequest | TransactionRequest | GroupRequest
Response = (
    PartitionResponse | DeletedRecords | ControllerResponse | TransactionResponse | GroupResponse
)
