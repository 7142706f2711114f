"""Executable definitions of the claims about reading and writing a log.

A writer sends one record at a time, so the times of its sends give the order of its records. A
reader polls a topic partition from a start offset to the end of the log. No two sends have the same
value.

A claim that something can happen has goals (`SOMETIMES`). A goal is a situation that at least one
run must reach.

Source: docs/sources.md DOC3.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise, zip_longest
from typing import Final

from model.histories import History, Operation, Poll, Send
from properties.claims.breach import Always, Breach, Sometimes


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAndWritten:
    """The history of the writers and readers in one run, and the final log of each topic
    partition.
    """

    history: History
    logs: Mapping[str, tuple[tuple[int, str], ...]]  # (offset, value) in log order, by partition
    starts: Mapping[int, Mapping[str, int]]  # of each reader's process, by partition
    instances: Mapping[int, int]  # the consumer instance of each reader's process

    def polls(self, *processes: int) -> Iterator[Poll]:
        for operation in self.history:
            if operation.process in processes:
                yield from (did for did in operation.did if isinstance(did, Poll))

    def sends(self) -> Iterator[tuple[Operation, Send]]:
        for operation in self.history:
            yield from ((operation, did) for did in operation.did if isinstance(did, Send))

    def locations(self) -> Mapping[str, tuple[str, int]]:
        return {value: (key, at) for key, log in self.logs.items() for at, value in log}


# ---------------------------------------------------------------- claims that hold always


def consumer_order(run: ReadAndWritten) -> tuple[Breach, ...]:
    """Claim: a consumer instance receives the records of each topic partition in offset order."""
    members: defaultdict[int, list[int]] = defaultdict(list)
    for process, instance in run.instances.items():
        members[instance].append(process)
    return tuple(
        Breach("consumer_order", f"{later.value} at offset {later.offset} came after {before}")
        for processes in members.values()
        for key in run.logs
        for earlier, later in pairwise(poll for poll in run.polls(*processes) if poll.key == key)
        if (earlier.offset or 0) >= (later.offset or 0)
        for before in (f"{earlier.value} at offset {earlier.offset}",)
    )


def any_offset_readable(run: ReadAndWritten) -> tuple[Breach, ...]:
    """Claim: each reader receives all records of the log in order, beginning at the reader's start
    offset.
    """
    breaches: list[Breach] = []
    for process, starts in run.starts.items():
        for key, start in starts.items():
            received = [(poll.offset, poll.value) for poll in run.polls(process) if poll.key == key]
            log = dict(run.logs[key])
            end = max(log, default=-1) + 1
            expected = [(offset, log.get(offset)) for offset in range(start, end)]
            breaches += (
                Breach(
                    "any_offset_readable",
                    f"a reader that began at offset {start} of {key} received {found}, "
                    f"where the log has {logged}",
                )
                for found, logged in zip_longest(received, expected)
                if found != logged
            )
    return tuple(breaches)


ALWAYS: Final[Always] = {
    "consumer_order": consumer_order,
    "any_offset_readable": any_offset_readable,
}


# ---------------------------------------------------------------- things that can happen


def read_in_another_order_than_sent(run: ReadAndWritten) -> bool:
    """Returns True if a reader of the run received two records of one writer, but not in the order
    in which the writer sent them.

    The two records must be in different topic partitions, and the writer must have sent the second
    record after the first record was acknowledged.
    """
    sends = [(operation, sent) for operation, sent in run.sends() if operation.outcome == "ok"]
    later_than = {
        (one.value, other.value)
        for (first, one), (second, other) in combinations(sends, 2)
        if (first.process, one.key != other.key) == (second.process, True)
        and (first.completed_ns or 0) < second.invoked_ns
    }
    return any(
        (after.value, before.value) in later_than
        for process in run.starts
        for before, after in combinations(run.polls(process), 2)
    )


def producers_change_places(run: ReadAndWritten) -> bool:
    """Returns True if a log has two records of different writers, and the send of the record at the
    higher offset began first.

    But it returns False if some log has two records of one writer that are not in the order of
    their sends.
    """
    locations = run.locations()
    sent = sorted(
        (operation.invoked_ns, operation.process, sent.key, locations[sent.value][1])
        for operation, sent in run.sends()
        if sent.value in locations
    )
    inverted = [
        one[1] == other[1]
        for one, other in combinations(sent, 2)
        if one[2] == other[2] and one[3] > other[3]
    ]
    return bool(inverted) and not any(inverted)


def consumers_are_apart(run: ReadAndWritten) -> bool:
    """Returns True if a reader of the run received a record after another reader had received a
    record of the same topic partition at a higher offset.

    But it returns False if some reader did not receive the records of a topic partition in log
    order.
    """
    received = [
        (operation.process, did.key, did.offset or 0)
        for operation in run.history
        for did in operation.did
        if isinstance(did, Poll)
    ]
    apart = any(
        one[0] != other[0] and one[1] == other[1] and one[2] > other[2]
        for one, other in combinations(received, 2)
    )
    return apart and not consumer_order(run)


SOMETIMES: Final[Sometimes] = {
    "order_is_per_partition": {
        "read in another order than sent": read_in_another_order_than_sent,
    },
    "two_writers_two_readers": {
        "records of two producers change places": producers_change_places,
        "two consumers are apart": consumers_are_apart,
    },
}
