"""A short run of the benchmark `week` appends the records, and its measurements are plausible."""

from __future__ import annotations

from itertools import islice

from benchmarks.week import PRODUCERS, Run, batches, measured
from reference_impl.log.producer_state import ProducerStates
from reference_impl.log.record_batch import decode
from reference_impl.log.segment import Batch


def test_the_batches_are_those_of_idempotent_producers() -> None:
    found = [Batch.of(data) for data in islice(batches(100), 2 * PRODUCERS)]
    times_ms = [record.timestamp_ms for batch in found for _, record in decode(batch.data)]
    assert times_ms == [*range(times_ms[0], times_ms[0] + len(times_ms))], "a thousand a second"
    states = ProducerStates.of(found[:PRODUCERS])
    for batch in found[PRODUCERS:]:
        assert states.check_sequence(batch.header) == ()


def test_a_short_run_notes_what_the_broker_used() -> None:
    result = measured(Run("short", records=100, days=0.001, kept_days=0.0005))
    first, last = result["notes"][0], result["notes"][-1]
    assert result["records"] == last["batches"] * 100 >= 0.95 * 86_400
    assert first["cpu_s"] < last["cpu_s"]
    assert last["memory_mib"] > 10
    assert last["disk_mib"] > 0.1
    assert result["restart"]["memory_mib"] > 10
