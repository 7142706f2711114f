"""A send is recorded with the outcome that the client reports.

Each test client reports the same fixed result for every record, or never reports a result.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError

from checkers.histories.io.recorded import operations
from checkers.record import sending
from checkers.record.processes import Shared, Topic
from checkers.record.sending import SharedProducer, send_all
from checkers.record.store import Described, HistoryWriter
from model.histories import Outcome, Send


@dataclass
class Reporting:
    """A client that reports the same error and the same offset for each record."""

    error: KafkaError | None
    at: int | None
    queued: list[Callable[[Any, Any], None]] = field(default_factory=list[Any])

    def produce(self, *_: Any, on_delivery: Callable[[Any, Any], None], **__: Any) -> None:
        self.queued.append(on_delivery)

    def poll(self, _: float) -> None:
        self.queued.pop()(self.error, self)

    def offset(self) -> int | None:
        return self.at


@pytest.mark.parametrize(
    ("client", "outcome", "offset"),
    [
        (Reporting(None, 7), "ok", 7),
        (Reporting(None, None), "ok", None),  # a retry of a batch that was appended before
        (Reporting(KafkaError(KafkaError._MSG_TIMED_OUT), None), "info", None),
        (Reporting(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE), None), "fail", None),
    ],
)
def test_a_send_ends_as_its_delivery_report_says(
    tmp_path: Path, client: Reporting, outcome: Outcome, offset: int | None
) -> None:
    folder = tmp_path / "history"
    described = Described(workload="append-and-read", clients={}, settings={}, seed=0)
    with HistoryWriter(folder, described) as writer:
        send_all(
            Shared(writer),
            Topic("t", 1),
            SharedProducer(lambda: client),
            count=1,
            pause_s=0,
            rng=random.Random(0),
        )
    (sent,) = operations(folder)
    assert (sent.outcome, sent.did) == (outcome, (Send("t-0", "0.0", offset),))


class Silent(Reporting):
    """A client that never reports a delivery."""

    def poll(self, _: float) -> None:
        time.sleep(0.001)


def test_a_send_that_is_never_reported_ends_its_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "GIVE_UP_AFTER_S", 0.05)
    folder = tmp_path / "history"
    described = Described(workload="append-and-read", clients={}, settings={}, seed=0)
    with HistoryWriter(folder, described) as writer:
        client = Silent(None, None)
        producer = SharedProducer(lambda: client)
        rng = random.Random(0)
        send_all(Shared(writer), Topic("t", 1), producer, count=9, pause_s=0, rng=rng)
    (sent,) = operations(folder)
    assert (sent.outcome, sent.completed_ns) == ("info", None)
