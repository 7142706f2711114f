"""The log directories in `tests/data` have the contents that their README describes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from reference_impl.log.compression import Compression
from reference_impl.log.consecutive_batches import batches
from reference_impl.log.record_batch import Header, verified

DATA = Path(__file__).parents[2] / "data" / "apache_kafka"
MOMENTS = ("log_dirs_killed", "log_dirs_stopped")
REPLICAS = ("broker-1", "broker-2", "broker-3")


def headers(moment: str, broker: str, topic_partition: str) -> Iterator[Header]:
    for segment in sorted((DATA / moment / broker / topic_partition).glob("*.log")):
        for batch in batches(segment.read_bytes()):
            yield verified(batch)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("broker", REPLICAS)
def test_the_topic_orders_has_every_compression_and_several_leader_epochs(
    moment: str, broker: str
) -> None:
    found = list(headers(moment, broker, "orders-0"))

    assert {header.compression for header in found} == set(get_args(Compression))
    assert len({header.leader_epoch for header in found}) >= 2
    assert len(list((DATA / moment / broker / "orders-0").glob("*.log"))) >= 5
    offsets = [header.base_offset for header in found]
    assert offsets == sorted(offsets)


def test_after_a_clean_stop_the_three_replicas_have_equal_logs() -> None:
    for name in ("orders-0", "payments-0", "__transaction_state-0", "__consumer_offsets-0"):
        logs = {
            b"".join(p.read_bytes() for p in sorted((DATA / MOMENTS[1] / b / name).glob("*.log")))
            for b in REPLICAS
        }
        assert len(logs) == 1, name


def test_a_broker_that_was_killed_lacks_the_last_marker_and_its_checkpoints_are_behind() -> None:
    ends = {b: max(h.next_offset for h in headers(MOMENTS[0], b, "payments-0")) for b in REPLICAS}
    assert ends == {"broker-1": 46, "broker-2": 47, "broker-3": 47}
    checkpoint = (DATA / MOMENTS[0] / "broker-2" / "replication-offset-checkpoint").read_text()
    assert "payments 0 39" in checkpoint.splitlines()
    preallocated = (DATA / MOMENTS[0] / "broker-1").glob("*/*.index")
    assert Counter(path.stat().st_size for path in preallocated)[4096] == 4


def test_a_recovered_coordinator_has_written_its_marker_again_and_one_transaction_is_open() -> None:
    found = list(headers(MOMENTS[1], "broker-1", "payments-0"))
    markers = [(h.base_offset, h.producer_id, h.leader_epoch) for h in found if h.is_control]
    *_, first, again = markers
    assert (first[0], again[0]) == (46, 47)
    assert first[1] == again[1]
    assert (first[2], again[2]) == (0, 2)
    wrote = {h.producer_id for h in found if h.is_transactional and not h.is_control}
    (left_open,) = wrote - {producer_id for _, producer_id, _ in markers}
    assert [h.base_offset for h in found if h.producer_id == left_open] == [40]
