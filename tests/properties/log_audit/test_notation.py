"""The notation for logs is parsed; the error for an unknown word names its line."""

from __future__ import annotations

import pytest

from properties.log_audit.log import Aborted, CoordinatorEntry, Record
from tests.properties.log_audit.notation import NotationFault, logs


def test_a_replica_with_a_transaction_and_its_coordinator_is_parsed() -> None:
    parsed = logs("""
        A orders-0 hw=5 cleaned=2 epochs=0@0,1@3 aborted=7:3-4 stopped
        0-2  e0 has 0,2 t60000       # compacted
        ---
        3    e1 p7/0 s0 txn =y
        4    e1 p7/0 abort c2
        torn 17
        coordinator one p7/0 Ongoing orders-0
    """)

    (log,) = parsed.replicas
    first, second, marker = log.batches
    assert (log.metadata.high_watermark, log.metadata.cleaned_to, log.metadata.stopped) == (
        5,
        2,
        True,
    )
    assert log.metadata.leader_epochs == ((0, 0), (1, 3))
    assert log.metadata.segments == ("00000000000000000000.log", "00000000000000000003.log")
    assert log.metadata.aborted == (
        Aborted(segment="00000000000000000003.log", producer_id=7, first_offset=3, last_offset=4),
    )
    assert first.compacted
    assert not second.compacted
    assert second.records == (Record(offset=3, content="y"),)
    assert (second.producer_id, second.base_sequence, second.transactional) == (7, 0, True)
    assert (marker.marker, marker.control, marker.coordinator_epoch) == ("abort", True, 2)
    assert (marker.segment, marker.position) == ("00000000000000000003.log", 100)
    assert (log.fragments[0].position, log.fragments[0].size, log.fragments[0].offset) == (
        200,
        17,
        5,
    )
    assert log.end_offset == 5
    assert parsed.coordinated == (
        CoordinatorEntry(
            transactional_id="one",
            producer_id=7,
            producer_epoch=0,
            state="Ongoing",
            partitions=("orders-0",),
        ),
    )


def test_a_log_without_batches_ends_at_the_base_offset_of_its_segment() -> None:
    (log,) = logs("A t-0\n--- 12").replicas
    assert (log.end_offset, log.batches) == (12, ())


@pytest.mark.parametrize(
    "line", ["A t-0 height=3", "A t-0\n0 e0 what", "A t-0\n0 bad luck", "coordinator one p7 Dead"]
)
def test_an_unknown_word_is_an_error_with_its_line(line: str) -> None:
    with pytest.raises(NotationFault, match=rf"^line {len(line.splitlines())}: "):
        logs(line)
