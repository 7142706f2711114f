"""Helpers of the tests that send single requests over TCP."""

from __future__ import annotations

import time
from typing import Any

import pytest

from reference_impl.protocol.topic_id import topic_id
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.versions import VERSIONS

Connection = Any  # of conftest


def versions(api: Api) -> pytest.MarkDecorator:
    """Returns a mark that runs a test in each version of a request.

    The versions are those in which the reference broker answers the request.
    """
    first, last = VERSIONS[api].first_answered, VERSIONS[api].last
    return pytest.mark.parametrize("version", range(first, last + 1))


def begun(connection: Connection, transactional_id: str) -> dict[str, Any]:
    """Gets a producer id for a transactional id.

    Returns the fields that name the producer in later requests.
    """
    wanted = {"transactional_id": transactional_id, "transaction_timeout": 60_000}
    while True:
        answer = connection.call(
            Api.INIT_PRODUCER_ID, 4, producer_id=-1, producer_epoch=-1, **wanted
        )
        if answer.error_code == 0:
            return {
                "transactional_id": transactional_id,
                "producer_id": answer.producer_id,
                "producer_epoch": answer.producer_epoch,
            }
        time.sleep(0.02)


def named(version: int, by_id_since: int, topic: str, name: str = "name") -> dict[str, Any]:
    """Returns the field that identifies the topic in this version of a request."""
    return {"topic_id": topic_id(topic)} if version >= by_id_since else {name: topic}
