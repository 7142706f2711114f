"""Executable definitions of the claims about delivery: they compare sent values with stored values.

No two sends have the same value. The application writes each value that it processes unchanged to
its output.

A claim that something can happen has goals (`SOMETIMES`). A goal is a situation that at least one
run must reach.

Source: docs/sources.md DOC0, DOC1, DOC2, DOC3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from model.histories import History, Poll, Rebalanced
from properties.claims.breach import Breach


class Rewind(NamedTuple):
    """A consumer that went back in a log: its process, the offset to which it went back, and the
    time.
    """

    process: int
    offset: int
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """The values of one run of an application: the values that were sent, the values in its
    database (`stored`), and the values in its output topic (`downstream`).

    The application reads one topic partition, and `log` has the records of this topic partition.
    """

    sent: tuple[str, ...]  # the values sent, in this order
    stored: tuple[str, ...] = ()  # the effects in the application's database
    downstream: tuple[str, ...] = ()  # the values of the output topic, as its reader sees them
    log: tuple[tuple[int, str], ...] = ()  # the input topic: (offset, value), as read at the end
    rewinds: tuple[Rewind, ...] = ()
    history: History = ()


Claimed = Callable[[Delivered], tuple[Breach, ...]]


def lost(sent: tuple[str, ...], found: tuple[str, ...], where: str) -> Iterator[str]:
    """Yields a sentence for each value of `sent` that is not in `found`, such as
    `v0 is not in the output`.

    `where` is the part of the sentence that names a place, such as `in the output`.
    """
    return (f"{value} is not {where}" for value in sent if value not in found)


def repeated(found: tuple[str, ...], where: str) -> Iterator[str]:
    """Yields a sentence for each value that is in `found` more than once, such as
    `v0 is in the output 2 times`.

    `where` is the part of the sentence that names a place, such as `in the output`.
    """
    return (f"{value} is {where} {times} times" for value, times in Counter(found).items()
            if times > 1)  # fmt: skip


# ---------------------------------------------------------------- claims that hold always


def at_most_once(run: Delivered) -> tuple[Breach, ...]:
    """Claim: the application processes no value twice."""
    return tuple(Breach("at_most_once", why) for why in repeated(run.stored, "in the database"))


def at_least_once(run: Delivered) -> tuple[Breach, ...]:
    """Claim: the application processes every value that was sent."""
    why = lost(run.sent, run.stored, "in the database")
    return tuple(Breach("at_least_once", it) for it in why)


def exactly_once_pipeline(run: Delivered) -> tuple[Breach, ...]:
    """Claim: every value that was sent is in the output topic exactly once."""
    why = (
        *lost(run.sent, run.downstream, "downstream"),
        *repeated(run.downstream, "downstream"),
    )
    return tuple(Breach("exactly_once_pipeline", it) for it in why)


def _stored_once(claim: str) -> Claimed:
    def claimed(run: Delivered) -> tuple[Breach, ...]:
        why = (
            *lost(run.sent, run.stored, "in the database"),
            *repeated(run.stored, "in the database"),
        )
        return tuple(Breach(claim, it) for it in why)

    return claimed


def default_is_at_least_once(run: Delivered) -> tuple[Breach, ...]:
    """Claim: a consumer with default settings processes every value that was sent."""
    why = lost(run.sent, run.stored, "in the database")
    return tuple(Breach("default_is_at_least_once", it) for it in why)


def rewind_redelivers(run: Delivered) -> tuple[Breach, ...]:
    """Claim: after a rewind, the consumer receives the records of the log in order, beginning at
    the offset of the rewind.

    The check compares only the records that the process received before its next rewind or
    rebalance.
    """
    return tuple(
        Breach(
            "rewind_redelivers",
            f"after a rewind to offset {rewind.offset} the consumer received offsets {received},"
            f" the log has {kept[: len(received)]}",
        )
        for rewind in run.rewinds
        for received, kept in [(_received_after(run, rewind), _kept_from(run, rewind.offset))]
        if received != kept[: len(received)]
    )


def _received_after(run: Delivered, rewind: Rewind) -> list[int | None]:
    until_ns = min(
        (
            it.at_ns
            for it in run.rewinds
            if it.process == rewind.process and it.at_ns > rewind.at_ns
        ),
        default=None,
    )
    received: list[int | None] = []
    for operation in run.history:
        if operation.process != rewind.process or operation.invoked_ns <= rewind.at_ns:
            continue
        if until_ns is not None and operation.invoked_ns > until_ns:
            break
        if any(isinstance(did, Rebalanced) for did in operation.did):
            break
        received += (did.offset for did in operation.did if isinstance(did, Poll))
    return received


def _kept_from(run: Delivered, offset: int) -> list[int | None]:
    return [at for at, _ in run.log if at >= offset]


def kafka_and_database_not_atomic(run: Delivered) -> tuple[Breach, ...]:
    """Claim: every value that was sent is exactly once in the database, and exactly once in the
    output topic.

    The claim is named after the danger: Kafka and a database do not commit together. Only an
    idempotent application satisfies the claim in spite of this danger.
    """
    stored, downstream = Counter(run.stored), Counter(run.downstream)
    return tuple(
        Breach(
            "kafka_and_database_not_atomic",
            f"{value} is in the database {stored[value]} times and downstream {downstream[value]}"
            " times",
        )
        for value in run.sent
        if not stored[value] == downstream[value] == 1
    )


ALWAYS: Final[Mapping[str, Claimed]] = {
    "at_most_once": at_most_once,
    "at_least_once": at_least_once,
    "exactly_once_pipeline": exactly_once_pipeline,
    "exactly_once_external": _stored_once("exactly_once_external"),
    "two_phase_commit": _stored_once("two_phase_commit"),
    "default_is_at_least_once": default_is_at_least_once,
    "rewind_redelivers": rewind_redelivers,
    "idempotent_consumer": _stored_once("idempotent_consumer"),
    "kafka_and_database_not_atomic": kafka_and_database_not_atomic,
}


# ---------------------------------------------------------------- things that can happen


def done_twice_and_sent_once(run: Delivered) -> bool:
    """Returns True if the run has a value whose side effect happened at least twice, although the
    value is in the output exactly once.
    """
    stored, downstream = Counter(run.stored), Counter(run.downstream)
    return any(stored[value] > 1 == downstream[value] for value in run.sent)


SOMETIMES: Final[Mapping[str, Mapping[str, Callable[[Delivered], bool]]]] = {
    "side_effects_repeat": {"done twice, sent once": done_twice_and_sent_once},
}
