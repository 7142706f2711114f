"""The topics and partitions that a request names are found in every kind of request."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.named_partitions import named
from reference_impl.wire.messages.plain_messages import encode, read_request

ID = UUID("4ac2c2a5-4ac2-4ac2-8ac2-4ac2c2a54ac2")


@pytest.mark.parametrize(
    ("api", "version", "body", "expected"),
    [
        (
            Api.PRODUCE,
            9,
            {"topic_data": [{"name": "a", "partition_data": [{"index": 0}, {"index": 2}]}]},
            [("a", 0), ("a", 2)],
        ),
        (
            Api.FETCH,
            13,
            {"topics": [{"topic_id": ID, "partitions": [{"partition": 1}]}]},
            [(ID, 1)],
        ),
        (Api.METADATA, 9, {"topics": [{"name": "a"}, {"name": "b"}]}, [("a", None), ("b", None)]),
        (Api.METADATA, 9, {"topics": None}, []),
        (Api.METADATA, 12, {"topics": [{"topic_id": ID, "name": None}]}, [(ID, None)]),
        (Api.CREATE_TOPICS, 5, {"topics": [{"name": "a", "num_partitions": 2}]}, [("a", None)]),
        (
            Api.ADD_PARTITIONS_TO_TXN,
            3,
            {"v3_and_below_topics": [{"name": "a", "partitions": [0, 1]}]},
            [("a", 0), ("a", 1)],
        ),
        (
            Api.OFFSET_FETCH,
            8,
            {"groups": [{"group_id": "g", "topics": [{"name": "a", "partition_indexes": [4]}]}]},
            [("a", 4)],
        ),
        (Api.HEARTBEAT, 4, {"group_id": "g"}, []),
    ],
)  # fmt: skip
def test_a_request_names_topics_and_partitions(
    api: Api, version: int, body: dict[str, Any], expected: list[Any]
) -> None:
    frame = encode(api, version, 1, body)[4:]
    assert named(read_request(api, version, frame)) == expected
