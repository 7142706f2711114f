"""Sends sequences of requests to two systems, and compares the two answers to each request.

One of the systems may be a recording of the answers that a cluster gave earlier.

If a difference has no known reason, or only a general one, one of the answers may not show an
earlier change yet. So a request that changes nothing is then sent again, at most 8 times.

After some differences, the two systems are in different states. The remaining requests of the
sequence are then sent only if the compared system is a running cluster. The answers to these
requests are recorded, but not compared.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, Protocol

from checkers.conform.compare import Difference, differences
from checkers.conform.reason import Reason, reason_of
from checkers.conform.session import errors
from checkers.conform.steps import Begin, Collect, Pause, Send, Steps, described

REPEATS: Final = 8
REPEATED_AFTER_S: Final = 0.1


class Side(Protocol):
    """One of the two systems of a comparison: a running cluster, or a recording of its answers."""

    @property
    def is_running(self) -> bool: ...

    def has(self, send: Send) -> bool: ...

    def send(self, index: int, step: Send) -> Any: ...

    def begin(self, index: int, step: Begin) -> None: ...

    def collect(self, index: int, step: Collect, until: float) -> Any: ...

    def keep(self, step: Send) -> None:
        """Stores fields of the newest answer to the request `step`, such as a producer id.
        `step.binds` maps a name to a field of the answer. The value of the field is stored under
        this name.

        A field that the answer does not have is skipped.
        """
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The two systems' answers to one request, and the differences between the answers.

    `explained` has an entry for each of `differences`: the known reason for the difference, or
    None.
    """

    index: int
    send: Send
    system: Any
    reference: Any
    compared: bool  # False after the two systems got into different states
    differences: tuple[Difference, ...] = ()  # empty if the answers are not compared
    explained: tuple[Reason | None, ...] = ()

    @property
    def unexplained(self) -> list[Difference]:
        pairs = zip(self.differences, self.explained, strict=True)
        return [difference for difference, reason in pairs if reason is None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    sequence: Steps
    pairs: tuple[Pair, ...]


def compare(
    sequence: Steps, system: Side, reference: Side, rows: Iterable[Reason]
) -> Iterator[Pair]:
    """Sends the requests of a sequence to the system and to the reference broker (Urteil's own
    broker), and yields the pairs of answers.

    A request is skipped if the system does not support the version of the request. `rows` has the
    known reasons for differences. After a difference that leaves the two systems in different
    states, the answers are not compared any more. If `system` is a recording, the sequence then
    ends.
    """
    rows, equal = tuple(rows), True
    begun: dict[str, Send] = {}
    for index, step in enumerate(sequence.steps):
        if isinstance(step, Pause):
            time.sleep(step.ms / 1000)
            continue
        if isinstance(step, Send | Begin) and not system.has(_request(step)):
            continue
        if isinstance(step, Begin):
            begun[step.label] = step.send
            for side in (system, reference):
                side.begin(index, step)
            continue
        if isinstance(step, Collect) and step.label not in begun:
            continue
        send = begun[step.label] if isinstance(step, Collect) else step
        theirs, ours = _answers(index, step, system, reference, rows if equal else None)
        found = differences(send, theirs, ours) if equal else []
        explained = tuple(reason_of(difference, rows) for difference in found)
        yield Pair(
            index=index,
            send=send,
            system=theirs,
            reference=ours,
            compared=equal,
            differences=tuple(found),
            explained=explained,
        )
        equal = equal and not any(reason is None or reason.ends for reason in explained)
        if not equal and not system.is_running:
            return
        for side in (system, reference):
            side.keep(send)


def _request(step: Send | Begin) -> Send:
    return step.send if isinstance(step, Begin) else step


def _answers(
    index: int,
    step: Send | Collect,
    system: Side,
    reference: Side,
    rows: tuple[Reason, ...] | None,
) -> tuple[Any, Any]:
    if isinstance(step, Collect):
        until = time.monotonic() + step.within_ms / 1000
        return system.collect(index, step, until), reference.collect(index, step, until)
    before: Any = None
    theirs, ours = system.send(index, step), reference.send(index, step)
    # A read is sent again while the answers differ without a known reason.
    for _ in range(REPEATS if step.is_repeated else 0):
        if rows is None:
            # The answers are not compared: they may differ if the system repeats its answer.
            settled = theirs in (ours, before)
        else:
            found = differences(step, theirs, ours)
            reasons = [reason_of(difference, rows) for difference in found]
            settled = all(reason is not None and not reason.general for reason in reasons)
        if settled:
            break
        time.sleep(REPEATED_AFTER_S)
        before = theirs
        theirs, ours = system.send(index, step), reference.send(index, step)
    return theirs, ours


Open = Callable[[int, Steps], tuple[Side, Side]]


def run(
    sequences: Iterable[Steps], sides: Open, rows: Iterable[Reason], *, workers: int
) -> Iterator[Compared]:
    """Sends several sequences of requests to two systems, and yields the compared answers to each
    sequence.

    At most `workers` sequences run in parallel. `sides` is a function that opens both systems for
    one sequence.
    """
    rows = tuple(rows)

    def one(number: int, sequence: Steps) -> Compared:
        system, reference = sides(number, sequence)
        try:
            pairs = tuple(compare(sequence, system, reference, rows))
        finally:
            system.close()
            reference.close()
        return Compared(sequence=sequence, pairs=pairs)

    with ThreadPoolExecutor(workers) as pool:
        numbered = enumerate(sequences)
        waiting = [pool.submit(one, *each) for each in itertools.islice(numbered, workers * 2)]
        while waiting:
            yield waiting.pop(0).result()
            waiting += [pool.submit(one, *each) for each in itertools.islice(numbered, 1)]


def trail(compared: Compared, until: Pair) -> list[str]:
    """Returns one line for each pair of a sequence, up to and including the pair `until`. A pair is
    a request and its two answers. A line has the request and the errors in both answers.
    """
    upto = [pair for pair in compared.pairs if pair.index <= until.index]
    return [
        f"{described(pair.send)}: {_brief(pair.system)} | {_brief(pair.reference)}" for pair in upto
    ]


def _brief(answer: Any) -> str:
    if isinstance(answer, str):
        return answer
    return ", ".join(sorted(errors(answer) - {"NONE"})) or "no error"
