"""Sequences of requests are drawn from a seed, are valid for Kafka's schemas, and can be stored."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from checkers.conform.families import FAMILIES, sequence, sequences
from checkers.conform.steps import READS, Steps, all_requests, as_json, described, from_json
from model.faults import UnknownName
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.plain_messages import field_names
from reference_impl.wire.messages.versions import VERSIONS

SEEDS = range(60)


def names(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, cell in value.items():
            if name.startswith("$"):
                return
            yield name
            yield from names(cell)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from names(one)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_seed_draws_the_same_sequence(family: str) -> None:
    assert sequence(family, 3) == sequence(family, 3)
    assert len({str(sequence(family, seed)) for seed in SEEDS}) > 50


@pytest.mark.parametrize("family", FAMILIES)
def test_every_field_of_a_body_is_one_of_some_version(family: str) -> None:
    known = {
        api: frozenset().union(
            *(
                field_names(api, version)
                for version in range(VERSIONS[api].first_answered, VERSIONS[api].last + 1)
            )
        )
        for api in VERSIONS
    }
    for seed in SEEDS:
        for send in all_requests(sequence(family, seed).steps):
            assert set(names(send.body)) <= known[send.api] | {"topic", "name", "topic_id"}, send


@pytest.mark.parametrize("family", FAMILIES)
def test_a_sequence_survives_json(family: str) -> None:
    steps = sequence(family, 5).steps
    text = json.dumps([as_json(step) for step in steps])
    again = [from_json(cells) for cells in json.loads(text)]
    assert [as_json(step) for step in again] == json.loads(text)
    assert [described(step) for step in again] == [described(step) for step in steps]


def test_sequences_of_two_seeds_differ_and_each_family_has_its_weight() -> None:
    weights = sum(family.weight for family in FAMILIES.values())
    first = list(itertools.islice(sequences(0), weights))
    other = list(itertools.islice(sequences(1), weights))
    assert not {one.name for one in first} & {one.name for one in other}
    for name, family in FAMILIES.items():
        assert sum(one.family == name for one in first) == family.weight


def test_all_apis_are_sent_and_their_versions_too() -> None:
    sent: dict[Api, set[int]] = defaultdict(set)
    drawn: Iterator[Steps] = itertools.islice(sequences(0), 900)
    for one in drawn:
        for send in all_requests(one.steps):
            sent[send.api].add(send.version)
    assert set(sent) == VERSIONS.keys()
    for api in sent:
        known = set(range(VERSIONS[api].first_answered, VERSIONS[api].last + 1))
        assert sent[api] == known, api


def test_reads_are_repeated_and_changes_are_not() -> None:
    assert Api.FETCH in READS
    assert not READS & {Api.PRODUCE, Api.END_TXN, Api.JOIN_GROUP, Api.OFFSET_COMMIT}


def test_a_request_without_an_error_code_follows_one_that_can_be_repeated() -> None:
    """A verification request comes before each AddPartitionsToTxn request without partitions.

    The verification request is repeated until the transactional id is no longer busy. The other
    request cannot be repeated like this: its response has no error code.
    """
    steps = [step for seed in SEEDS for step in all_requests(sequence("transactions", seed).steps)]
    before = [steps[at - 1] for at, step in enumerate(steps) if step.note == "add nothing"]
    assert before
    assert {(one.note, one.retries) for one in before} == {("verify before adding nothing", True)}


def test_the_error_for_an_unknown_family_lists_the_nearest() -> None:
    with pytest.raises(UnknownName, match="appends"):
        sequence("append", 0)
