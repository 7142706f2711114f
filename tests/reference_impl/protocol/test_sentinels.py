"""Special numbers have Kafka's values: those for "no offset", "no id" and "no time", and those for
special offsets and times.
"""

from __future__ import annotations

import pytest

from reference_impl.protocol import messages


@pytest.mark.parametrize(
    ("number", "names"),
    [
        (-1, "UNKNOWN_OFFSET NO_BROKER CONSUMER UNKNOWN_BROKER_EPOCH NO_PRODUCER_EPOCH"),
        (-1, "NO_TIMESTAMP ACKS_ALL LATEST_TIMESTAMP"),  # ProduceRequest, ListOffsetsRequest
        (0, "ACKS_NONE"),
        (1, "ACKS_LEADER"),
        (-2, "EARLIEST_TIMESTAMP DEBUGGING_CONSUMER"),  # FetchRequest.DEBUGGING_CONSUMER_ID
        (-3, "MAX_TIMESTAMP"),  # KIP-734
        (-4, "EARLIEST_LOCAL_TIMESTAMP"),  # KIP-405
        (-5, "LATEST_TIERED_TIMESTAMP"),  # KIP-1005
        (-6, "EARLIEST_PENDING_UPLOAD_TIMESTAMP"),  # KIP-1023
    ],
)
def test_a_sentinel_has_the_number_of_kafka(number: int, names: str) -> None:
    assert {name: getattr(messages, name) for name in names.split()} == dict.fromkeys(
        names.split(), number
    )
