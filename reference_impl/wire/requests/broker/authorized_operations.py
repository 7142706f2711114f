"""The operations that a client may perform on a resource, as responses can list them (KIP-430).

There is no access control. So a client may perform all operations that Kafka knows for the type of
resource. A response contains the operations as a bit set, in which operation n is bit n.

Source: KIP-430; AuthHelper.authorizedOperations, AclEntry.supportedOperations and AclOperation of
Apache Kafka.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

NO_OPERATIONS: Final = -(2**31)  # the request does not include operations


class Operation(IntEnum):
    """An operation on a resource. Its value is the number of the operation in responses."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


def _bits(*operations: Operation) -> int:
    return sum(1 << operation for operation in operations)


_CONFIGS: Final = (Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS)
_ALL: Final = (Operation.CREATE, Operation.ALTER, Operation.DESCRIBE, *_CONFIGS)
OF_TOPIC: Final = _bits(Operation.READ, Operation.WRITE, Operation.DELETE, *_ALL)
OF_GROUP: Final = _bits(Operation.READ, Operation.DESCRIBE, Operation.DELETE, *_CONFIGS)
OF_CLUSTER: Final = _bits(Operation.CLUSTER_ACTION, Operation.IDEMPOTENT_WRITE, *_ALL)


def group_operations(body: Any) -> int:
    """Returns the operations on a group as a bit set. Returns NO_OPERATIONS if the request with
    the body `body` does not ask for them.
    """
    return _if_included(body, "include_authorized_operations", OF_GROUP)


def topic_operations(body: Any) -> int:
    """Returns the operations on a topic as a bit set. Returns NO_OPERATIONS if the request with
    the body `body` does not ask for them.
    """
    return _if_included(body, "include_topic_authorized_operations", OF_TOPIC)


def cluster_operations(body: Any) -> int:
    """Returns the operations on the cluster as a bit set. Returns NO_OPERATIONS if the request
    with the body `body` does not ask for them.
    """
    return _if_included(body, "include_cluster_authorized_operations", OF_CLUSTER)


def _if_included(body: Any, field: str, operations: int) -> int:
    # A request of a version without the field gets no operations.
    return operations if getattr(body, field, False) else NO_OPERATIONS
