"""A value that was sent to only one partition of a topic is in another partition too.

The outcomes of the sends do not matter. A value that was sent to several partitions is not checked,
because Jepsen's tests may send a value to several partitions on purpose.

Simplified: a key such as `orders-0` means partition 0 of the topic `orders`. All keys without a
number, such as `x`, are treated as partitions of one topic without a name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation, topic_of
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.observations import (
    Observation,
    polled_values,
    senders,
    trusted_observations,
)
from properties.anomalies.rendering import render


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class DuplicateAcrossKeys:
    """A value that is in several partitions of a topic, although it was sent to only one of them.

    For each partition, `offsets` has the lowest offset of the value.
    """

    key: str  # the key to which the value was sent
    value: str
    keys: tuple[str, ...]  # in order
    offsets: tuple[int, ...]  # one for each key
    seen_by: tuple[int, ...]  # the first operation that showed it there

    @property
    def size(self) -> int:
        return len(self.keys)

    @property
    def ops(self) -> tuple[int, ...]:
        return self.seen_by


def _only_key(history: History) -> dict[tuple[str, str], str]:
    keys: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for key, value in senders(history):
        keys[topic_of(key), value].add(key)
    return {it: next(iter(sent_to)) for it, sent_to in keys.items() if len(sent_to) == 1}


def duplicates_across_keys(history: History) -> tuple[DuplicateAcrossKeys, ...]:
    only_key = _only_key(history)
    lowest: defaultdict[tuple[str, str], dict[str, Observation]] = defaultdict(dict)
    for seen in sorted(trusted_observations(history), key=lambda s: (s.offset, s.op)):
        lowest[topic_of(seen.key), seen.value].setdefault(seen.key, seen)
    rows: list[DuplicateAcrossKeys] = []
    for it, home in only_key.items():
        found = [lowest[it][key] for key in sorted(lowest[it])] if it in lowest else []
        if len(found) > 1 and home in lowest[it]:
            rows.append(
                DuplicateAcrossKeys(
                    key=home,
                    value=it[1],
                    keys=tuple(s.key for s in found),
                    offsets=tuple(s.offset for s in found),
                    seen_by=tuple(s.op for s in found),
                )
            )
    return tuple(sorted(rows))


def observed(history: History) -> int:
    polled = {(key, value) for key, value, _ in polled_values(history)}
    partitions = Counter(map(topic_of, {key for key, _ in polled | senders(history).keys()}))
    return sum(partitions[topic_of(key)] > 1 for key, _ in polled)


def explain(row: DuplicateAcrossKeys, operations: Mapping[int, Operation]) -> str:
    places = ", ".join(f"{k}@{o}" for k, o in zip(row.keys, row.offsets, strict=True))
    return "\n".join(
        (
            f"key {row.key}: the value {row.value} was sent to this key only, but is at {places}.",
            *(
                f"  {key} by  {render(operations, op, key, offset=offset, value=row.value)}"
                for key, offset, op in zip(row.keys, row.offsets, row.seen_by, strict=True)
            ),
        )
    )


ANOMALY: Final = Anomaly(
    id="duplicate-across-keys",
    statement="A value that was sent to one partition of a topic is in no other partition.",
    rule=(
        "All sends of a value to a topic went to one key, but the value was observed in that key "
        "and in another key of the topic."
    ),
    explanation=(
        "A record was routed twice: a broker accepted it for a partition that it does not lead, or "
        "wrote a batch into two logs."
    ),
    permits={},
    source="claims: exactly_once_publish; jepsen.tests.kafka looks at each key alone",
    observes="values polled from topics with several partitions",
    row=DuplicateAcrossKeys,
    find=duplicates_across_keys,
    observed=observed,
    explain=explain,
)
