"""The fuzzer's targets accept valid inputs, and raise an exception for a seeded fault."""

from __future__ import annotations

import random
from itertools import islice
from typing import Any

import pytest

from reference_impl.partition import record_validation
from reference_impl.protocol.record_facts import RecordFacts
from tools.fuzz import frames as target
from tools.fuzz.frames import BATCH, batches, frames, run

BEGINNINGS = [*islice(frames(random.Random(1)), 12), *batches()]


def test_the_valid_inputs_and_their_beginnings_raise_nothing() -> None:
    for data in BEGINNINGS:
        run(data)
        run(data[: len(data) // 2])


def test_an_exception_of_the_decoder_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def overflow(data: bytes) -> Any:
        raise OverflowError(data[:2].hex())

    monkeypatch.setattr(target, "decode", overflow)
    with pytest.raises(OverflowError):
        run(BEGINNINGS[0])


def test_an_accepted_batch_that_cannot_be_decoded_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fuzzer finds a broker that appends a batch without reading its records.

    The records of the batch cannot be decoded, so the broker should reject the batch.
    """
    trusting = RecordFacts(0, lacks_keys=False, is_in_sequence=True)
    monkeypatch.setattr(record_validation, "scan", lambda *_: trusting)
    whole = next(data for data in BEGINNINGS if data[0] == BATCH)
    with pytest.raises(ValueError, match="record 0"):
        run(whole[:62] + b"\x7f" + whole[63:])  # the length of the first record
