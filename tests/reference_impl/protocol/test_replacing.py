"""`replace` is faster than `dataclasses.replace`, and returns the same for every kind of class."""

from __future__ import annotations

import dataclasses
import pickle
from dataclasses import dataclass, field
from typing import Any

import pytest

from model.vocabulary import Offset, TopicPartition
from reference_impl.log.partition_log import PartitionLog
from reference_impl.partition.follower import Follower
from reference_impl.partition.leader import Leader
from reference_impl.protocol import replacing
from reference_impl.protocol.messages import ErrorCode, Fetch, Fetched
from reference_impl.protocol.replacing import replace


@dataclass(frozen=True, slots=True)
class Base:
    a: int
    b: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Derived(Base):
    c: str = "c"


@dataclass(frozen=True, slots=True)
class Checked:
    a: int
    b: int = 0

    def __post_init__(self) -> None:
        if self.a < 0:
            raise ValueError("negative")


@dataclass
class WithDictionary:
    a: int
    b: int = 0


@dataclass(frozen=True, slots=True)
class Computed:
    a: int
    b: int = field(init=False, default=7)


PLACE = TopicPartition("t", 0)


@pytest.mark.parametrize(
    ("value", "changes"),
    [
        (Base(1, (2,)), {"a": 3}),
        (Base(1, (2,)), {}),
        (Derived(1, (2,), "d"), {"b": (), "c": "e"}),
        (Checked(1), {"b": 2}),
        (WithDictionary(1), {"b": 2}),
        (Computed(1), {"a": 2}),
        (PartitionLog(), {"end_offset": Offset(4), "high_watermark": Offset(2)}),
        (Fetch(topic_partition=PLACE, fetch_offset=Offset(0)), {"max_bytes": 9}),
        (Fetched(topic_partition=PLACE), {"error": ErrorCode.OFFSET_OUT_OF_RANGE}),
    ],
)
def test_replace_returns_what_dataclasses_replace_returns(
    value: Any, changes: dict[str, Any]
) -> None:
    before = dataclasses.replace(value)
    changed = replace(value, **changes)
    assert changed == dataclasses.replace(value, **changes)
    assert type(changed) is type(value)
    assert changed is not value
    assert value == before


def test_the_values_of_a_broker_are_copied_by_their_slots() -> None:
    assert replacing._copier(PartitionLog) is not None
    assert all(replacing._copier(kind) is not None for kind in (Derived, Leader, Follower))
    assert [replacing._copier(kind) for kind in (Checked, WithDictionary, Computed)] == [None] * 3


def test_a_copy_is_frozen_hashed_and_pickled_as_its_original() -> None:
    copy = replace(Derived(1, (2,), "d"), c="e")
    with pytest.raises(dataclasses.FrozenInstanceError):
        copy.a = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        object.__setattr__(copy, "other", 2)
    assert hash(copy) == hash(Derived(1, (2,), "e"))
    assert pickle.loads(pickle.dumps(copy)) == copy
    assert repr(copy) == repr(Derived(1, (2,), "e"))


def test_a_class_without_a_twin_is_copied_by_dataclasses(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a class without a twin, `replace` calls `dataclasses.replace`.

    A twin is a class with the same slots that is not frozen; see `replacing`.
    """
    monkeypatch.setattr(replacing, "_copiers", {Base: None})
    assert replace(Base(1, (2,)), a=3) == Base(3, (2,))


def test_checks_after_the_construction_are_made() -> None:
    with pytest.raises(ValueError, match="negative"):
        replace(Checked(1), a=-1)


@pytest.mark.parametrize("value", [Base(1), WithDictionary(1)])
def test_an_unknown_field_is_an_error(value: Any) -> None:
    with pytest.raises(TypeError, match="nothing"):
        replace(value, nothing=1)
