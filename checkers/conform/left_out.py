"""Lists requests that are not sent to a system, because they would end its process. Without the
process, no later request could be compared.

librdkafka's mock cluster runs in the process of a client, and some requests violate an assertion of
the mock cluster. All other requests of the same sequence are sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from checkers.conform.steps import Send
from reference_impl.wire.messages.apis import Api

LIBRDKAFKA_MOCK: Final = "librdkafka-mock"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    system: str
    api: Api
    notes: str = "*"
    sentence: str


LEFT_OUT: Final = (
    LeftOut(
        system=LIBRDKAFKA_MOCK,
        api=Api.CONSUMER_GROUP_HEARTBEAT,
        sentence="A subscription by names, without a regular expression, ends the process "
        "(validate_subscription in rdkafka_mock_cgrp.c).",
    ),
    LeftOut(
        system=LIBRDKAFKA_MOCK,
        api=Api.PRODUCE,
        notes="no batch",
        sentence="A topic partition without a record batch ends the process "
        "(rd_slice_init_full in rdbuf.c).",
    ),
)


def is_left_out(system: str, send: Send) -> bool:
    return any(
        row.system == system and row.api is send.api and fnmatchcase(send.note, row.notes)
        for row in LEFT_OUT
    )
