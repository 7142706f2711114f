"""A value that was only ever sent to one partition of a topic lies in another one too.

A value may be sent to several keys: Jepsen's values are unique per key only. Of those that are
nothing is said. A value that every operation that tried to send it sent to one and the same key of
the topic, however it ended, belongs there and nowhere else; so nothing has to be declared of a
history.

Simplified: keys that name no topic partition count as keys of one nameless topic.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation, Poll, topic_of
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.observations import Sighting, placings, senders
from properties.anomalies.rendering import told


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class DuplicateAcrossKeys:
    """The keys of one topic in which a value lies: its lowest offset in each, and who showed it."""

    key: str  # that it was sent to
    value: str
    keys: tuple[str, ...]  # in order
    offsets: tuple[int, ...]  # one for each key
    seen_by: tuple[int, ...]  # the first operation that showed it there

    @property
    def size(self) -> int:
        """In how many keys the value lies."""
        return len(self.keys)

    @property
    def ops(self) -> tuple[int, ...]:
        return self.seen_by


def _homes(history: History) -> dict[tuple[str, str], str]:
    """For each topic and value that was sent to one key only, that key."""
    keys: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for key, value in senders(history):
        keys[topic_of(key), value].add(key)
    return {it: next(iter(sent_to)) for it, sent_to in keys.items() if len(sent_to) == 1}


def duplicates_across_keys(history: History) -> tuple[DuplicateAcrossKeys, ...]:
    """One row per value that lies in the key that it was sent to and in another of its topic."""
    homes = _homes(history)
    lowest: defaultdict[tuple[str, str], dict[str, Sighting]] = defaultdict(dict)
    for placing in sorted(placings(history), key=lambda s: (s.offset, s.op)):
        lowest[topic_of(placing.key), placing.value].setdefault(placing.key, placing)
    rows: list[DuplicateAcrossKeys] = []
    for it, home in homes.items():
        seen = [lowest[it][key] for key in sorted(lowest[it])] if it in lowest else []
        if len(seen) > 1 and home in lowest[it]:
            rows.append(
                DuplicateAcrossKeys(
                    key=home,
                    value=it[1],
                    keys=tuple(s.key for s in seen),
                    offsets=tuple(s.offset for s in seen),
                    seen_by=tuple(s.op for s in seen),
                )
            )
    return tuple(sorted(rows))


def observed(history: History) -> int:
    """How many different values were polled, each in its key."""
    polls = (m for operation in history for m in operation.did if isinstance(m, Poll))
    return len({(poll.key, poll.value) for poll in polls})


def explain(row: DuplicateAcrossKeys, operations: Mapping[int, Operation]) -> str:
    """Where the value lies, and who saw it there."""
    places = ", ".join(f"{k}@{o}" for k, o in zip(row.keys, row.offsets, strict=True))
    return "\n".join(
        (
            f"key {row.key}: the value {row.value} was sent there only, and lies at {places}.",
            *(
                f"  {key} by  {told(operations, op, key, offset=offset, value=row.value)}"
                for key, offset, op in zip(row.keys, row.offsets, row.seen_by, strict=True)
            ),
        )
    )


ANOMALY: Final = Anomaly(
    id="duplicate-across-keys",
    statement="A value that was sent to one partition of a topic lies in no other.",
    rule=(
        "Every operation that tried to send a value to a topic sent it to one key, and the value "
        "was seen at an offset of that key and of another of the topic."
    ),
    explanation=(
        "A record was routed twice: a broker answered for a partition that it does not lead, or "
        "wrote a batch into two logs. A value that was sent to several keys is left out."
    ),
    permits={},
    source="claims: exactly_once_publish; jepsen.tests.kafka looks at each key alone",
    observes="values polled",
    row=DuplicateAcrossKeys,
    find=duplicates_across_keys,
    observed=observed,
    explain=explain,
)
