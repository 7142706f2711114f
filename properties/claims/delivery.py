"""The claims about delivery in their literal form: what was sent against what became of it.

A run is *delivered*: the values that a producer was given, the rows that the application has stored
in the end, and what lies downstream. Values are unique among all sends, and the result of a value
is the value itself. So each claim compares multisets.

Source: D0, D1, D2, D3 (see properties.claims.catalogue).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from model.histories import History, Poll, Rebalanced
from properties.claims.breach import Breach


class Rewind(NamedTuple):
    """A consumer was taken back: by which process, to which offset, and when."""

    process: int
    offset: int
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """One run of an application on one topic partition, after its end."""

    sent: tuple[str, ...]  # what the producer was given, in this order
    stored: tuple[str, ...] = ()  # the effects in the application's database
    downstream: tuple[str, ...] = ()  # the values of the output, as its reader takes them
    log: tuple[tuple[int, str], ...] = ()  # the input, as read in the end
    rewinds: tuple[Rewind, ...] = ()
    history: History = ()


Claimed = Callable[[Delivered], tuple[Breach, ...]]


def lost(sent: tuple[str, ...], found: tuple[str, ...], where: str) -> Iterator[str]:
    """Every value that was sent and is not there."""
    return (f"{value} is not {where}" for value in sent if value not in found)


def repeated(found: tuple[str, ...], where: str) -> Iterator[str]:
    """Every value that is there more than once."""
    return (f"{value} is {times} times {where}" for value, times in Counter(found).items()
            if times > 1)  # fmt: skip


# ---------------------------------------------------------------- claims that hold always


def at_most_once(run: Delivered) -> tuple[Breach, ...]:
    """No value was processed twice."""
    return tuple(Breach("at_most_once", why) for why in repeated(run.stored, "in the database"))


def at_least_once(run: Delivered) -> tuple[Breach, ...]:
    """Every value that was sent was processed."""
    why = lost(run.sent, run.stored, "in the database")
    return tuple(Breach("at_least_once", it) for it in why)


def exactly_once_pipeline(run: Delivered) -> tuple[Breach, ...]:
    """Downstream every value that was sent is there once."""
    why = (
        *lost(run.sent, run.downstream, "downstream"),
        *repeated(run.downstream, "downstream"),
    )
    return tuple(Breach("exactly_once_pipeline", it) for it in why)


def _stored_once(claim: str) -> Claimed:
    """In the database every value that was sent is there once."""

    def claimed(run: Delivered) -> tuple[Breach, ...]:
        why = (
            *lost(run.sent, run.stored, "in the database"),
            *repeated(run.stored, "in the database"),
        )
        return tuple(Breach(claim, it) for it in why)

    return claimed


def default_is_at_least_once(run: Delivered) -> tuple[Breach, ...]:
    """Every value that was sent was processed."""
    why = lost(run.sent, run.stored, "in the database")
    return tuple(Breach("default_is_at_least_once", it) for it in why)


def rewind_redelivers(run: Delivered) -> tuple[Breach, ...]:
    """Behind a rewind come the records from that offset on, in the order of the log.

    Up to the next rewind of the same process, or its next rebalance.
    """
    return tuple(
        Breach(
            "rewind_redelivers",
            f"behind a rewind to offset {rewind.offset} the consumer was given offsets {given},"
            f" the log has {kept[: len(given)]}",
        )
        for rewind in run.rewinds
        for given, kept in [(_given_behind(run, rewind), _kept_from(run, rewind.offset))]
        if given != kept[: len(given)]
    )


def _given_behind(run: Delivered, rewind: Rewind) -> list[int | None]:
    """The offsets that the process was given behind its rewind."""
    until_ns = min(
        (
            it.at_ns
            for it in run.rewinds
            if it.process == rewind.process and it.at_ns > rewind.at_ns
        ),
        default=None,
    )
    given: list[int | None] = []
    for operation in run.history:
        if operation.process != rewind.process or operation.invoked_ns <= rewind.at_ns:
            continue
        if until_ns is not None and operation.invoked_ns > until_ns:
            break
        if any(isinstance(did, Rebalanced) for did in operation.did):
            break
        given += (did.offset for did in operation.did if isinstance(did, Poll))
    return given


def _kept_from(run: Delivered, offset: int) -> list[int | None]:
    return [at for at, _ in run.log if at >= offset]


def kafka_and_database_not_atomic(run: Delivered) -> tuple[Breach, ...]:
    """The database and the output tell of every value that was sent, each of them once."""
    stored, downstream = Counter(run.stored), Counter(run.downstream)
    return tuple(
        Breach(
            "kafka_and_database_not_atomic",
            f"{value} is {stored[value]} times in the database and {downstream[value]} times"
            " downstream",
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


def done_twice_and_told_once(run: Delivered) -> bool:
    """A side effect happened twice for a value that is once downstream."""
    stored, downstream = Counter(run.stored), Counter(run.downstream)
    return any(stored[value] > 1 == downstream[value] for value in run.sent)


SOMETIMES: Final[Mapping[str, Mapping[str, Callable[[Delivered], bool]]]] = {
    "side_effects_repeat": {"done twice, told once": done_twice_and_told_once},
}
