"""The search for a linearization is compared with another method, for registers and for logs.

For registers, the other method tries all orders of the calls. For logs, it checks rules on pairs of
operations: for example, an end offset must be above each offset that was acknowledged before.
"""

from __future__ import annotations

import random
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.histories import EndOffset, History, MicroOperation, Operation, Poll, Send
from model.history_notation import history
from properties.anomalies.log.duplicate import duplicates
from properties.anomalies.log.inconsistent_offsets import inconsistent_offsets
from properties.anomalies.real_time.future_read import future_reads
from properties.anomalies.real_time.offset_order_inversion import inversions
from properties.anomalies.real_time.reach import reads_committed, transactional_keys
from properties.anomalies.real_time.stale_end_offset import stale_end_offsets
from properties.linearizability import (
    UNKNOWN,
    Append,
    Call,
    Log,
    LogAction,
    Read,
    ReadEnd,
    ReadRecord,
    RegisterAction,
    Write,
    log,
    register,
    stuck,
)

# ---------------------------------------------------------------- the search


def by_trying(calls: list[Call[RegisterAction]]) -> bool:
    """Returns True if the calls are linearizable: some order is legal and agrees with real time.

    The function tries all orders of the calls. Calls that never completed may be left out.
    """
    must = [call for call in calls if call.completed_ns is not None]
    may = [call for call in calls if call.completed_ns is None]
    for chosen in range(1 << len(may)):
        some = must + [call for n, call in enumerate(may) if chosen >> n & 1]
        for order in permutations(some):
            true_to_time = not any(
                later.completed_ns is not None and later.completed_ns < earlier.invoked_ns
                for n, earlier in enumerate(order)
                for later in order[n:]
            )
            held: int | None = UNKNOWN
            for call in order:
                held = None if held is None else register(held, call.action)
            if true_to_time and held is not None:
                return True
    return False


@st.composite
def register_calls(draw: st.DrawFn) -> list[Call[RegisterAction]]:
    calls: list[Call[RegisterAction]] = []
    for op in range(draw(st.integers(0, 5))):
        begin = draw(st.integers(0, 9))
        value = draw(st.integers(0, 2))
        action: RegisterAction = Write(value) if draw(st.booleans()) else Read(value)
        never = isinstance(action, Write) and draw(st.booleans())
        calls.append(Call(op, action, begin, None if never else draw(st.integers(begin, 10))))
    return calls


@settings(max_examples=150, deadline=None)
@given(register_calls())
def test_a_register_is_linearizable_if_some_order_is(calls: list[Call[RegisterAction]]) -> None:
    assert (not list(stuck(calls, UNKNOWN, register))) == by_trying(calls)


def test_a_call_that_fits_no_order_is_returned_with_the_possible_states() -> None:
    calls: list[Call[RegisterAction]] = [
        Call(0, Write(5), 0, 10),
        Call(1, Write(7), 0, 10),
        Call(2, Read(5), 11, 20),
        Call(3, Read(7), 15, 25),
        Call(4, Read(5), 30, 40),
    ]
    (found,) = stuck(calls, UNKNOWN, register)
    assert found.call.op == 3
    assert found.states == {5}


def test_an_incomplete_write_may_take_effect_once_at_any_time() -> None:
    write: Call[RegisterAction] = Call(0, Write(5), 0, None)
    again: list[Call[RegisterAction]] = [
        Call(n, Read(v), 10 * n, 10 * n + 5) for n, v in enumerate((0, 0, 5, 5), 1)
    ]
    assert list(stuck([write, *again], UNKNOWN, register)) == []
    assert list(stuck([write, *again, Call(5, Read(0), 50, 55)], UNKNOWN, register))


# ---------------------------------------------------------------- the rules for logs


def calls_of(h: History, key: str) -> list[Call[LogAction]]:
    """Returns the calls of a history on one log, for the linearizability search.

    The offset of a send is taken from its response, or else from a poll that returned the value.
    """
    polled: dict[str, int] = {}
    sent: set[str] = set()
    for operation in h:
        for micro in operation.did:
            if micro.key != key:
                continue
            if isinstance(micro, Poll) and operation.outcome == "ok" and micro.offset is not None:
                polled[micro.value] = min(polled.get(micro.value, micro.offset), micro.offset)
            if isinstance(micro, Send):
                sent.add(micro.value)
    calls: list[Call[LogAction]] = []
    for number, operation in enumerate(h):
        ok, stable = operation.outcome == "ok", reads_committed(operation)
        for micro in operation.did:
            action: LogAction
            ended = operation.completed_ns
            match micro:
                case Send(k, value, int(offset)) if k == key and ok:
                    action = Append(offset, value)
                case Send(k, value, _) if k == key and value in polled:
                    action, ended = Append(polled[value], value), None
                case Poll(k, int(offset), value) if k == key and ok:
                    action = ReadRecord(offset, value, value in sent, stable)
                case EndOffset(k, offset) if k == key and ok:
                    action = ReadEnd(offset, stable)
                case _:
                    continue
            calls.append(Call(number, action, operation.invoked_ns, ended))
    return calls


def linearizable(h: History) -> bool:
    held_back = transactional_keys(h)
    keys = {micro.key for operation in h for micro in operation.did}
    return not any(
        list(stuck(calls_of(h, key), Log(transactional=key in held_back), log)) for key in keys
    )


def breaks_a_rule(h: History) -> bool:
    rules = (inversions, stale_end_offsets, future_reads, inconsistent_offsets, duplicates)
    return any(rule(h) for rule in rules)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draws histories of a few clients of one log; some responses are slightly wrong.

    No operation fails. Every poll ends ok, because a poll without a response shows no record.
    """
    rng = random.Random(draw(st.integers(0, 1 << 40)))
    wide = rng.choice([2, 5, 12])
    made: list[Operation] = []
    values = [f"v{n}" for n in range(4)]
    unsent = list(values)
    place = {value: n for n, value in enumerate(values)}
    f = rng.choice(["send", "txn"])
    for process in range(draw(st.integers(0, 7))):
        at = 3 * process + rng.randrange(-wide, wide)
        did: list[MicroOperation] = []
        outcome = rng.choice(["ok", "ok", "ok", "info"])
        kind = rng.choice(["send", "send", "poll", "end"])
        for _ in range(rng.choice([1, 1, 2])):
            if kind == "send" and unsent:
                value = unsent.pop(rng.choice([0, -1]))
                known = outcome == "ok" and rng.random() < 0.8
                offset = max(0, place[value] + rng.choice([0, 0, 0, 1, -1]))
                did.append(Send("k", value, offset if known else None))
            elif outcome == "ok" and kind == "poll":
                value = rng.choice([*values, "of-another"])
                offset = max(0, place.get(value, 1) + rng.choice([0, 0, 0, 1]))
                did.append(Poll("k", offset, value))
            elif outcome == "ok" and kind == "end":
                did.append(EndOffset("k", rng.randrange(6)))
        made.append(
            Operation(
                process=process,
                f=f,
                outcome="ok" if outcome == "ok" else "info",
                invoked_ns=at,
                completed_ns=None if outcome == "info" else at + rng.randrange(wide),
                did=tuple(did),
                isolation=rng.choice(["read_committed", "read_uncommitted"]),
            )
        )
    never = 1 << 60
    return tuple(sorted(made, key=lambda o: never if o.completed_ns is None else o.completed_ns))


@settings(max_examples=600, deadline=None)
@given(histories())
def test_a_log_is_linearizable_if_and_only_if_no_pair_rule_is_broken(h: History) -> None:
    assert linearizable(h) == (not breaks_a_rule(h))


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("p1 send k=a -> ok @0\nc1 poll -> ok k=a@0\nc1 end_offset k -> ok @1", True),
        ("p1 send k=a -> ok @0\nc1 end_offset k -> ok @0", False),
        ("c1 end_offset k -> ok @1\np1 send k=a -> ok @0", False),
        ("c1 poll -> ok k=z@4\np1 send k=a -> ok @3", False),
        ("p1 send k=a ...\np2 send k=b -> ok @0\np1 ... -> ok @1", True),
        ("p1 send k=a -> never\np2 send k=b -> ok @7\nc1 poll -> ok k=a@8 k=b@7", True),
        ("p2 send k=b -> ok @7\np1 send k=a -> never\nc1 poll -> ok k=a@6 k=b@7", False),
    ],
)
def test_both_methods_agree_on_examples(text: str, is_so: bool) -> None:
    assert linearizable(history(text)) == is_so
    assert breaks_a_rule(history(text)) == (not is_so)


def test_the_methods_differ_if_a_response_has_no_offset() -> None:
    h = history("p1 send k=a -> ok @?\nc1 end_offset k -> ok @0\nc1 poll -> ok k=a@5")
    assert not breaks_a_rule(h)
    assert linearizable(h)
    strictly: list[Call[LogAction]] = [
        Call(0, Append(5, "a"), h[0].invoked_ns, h[0].completed_ns),
        Call(1, ReadEnd(0, stable=False), h[1].invoked_ns, h[1].completed_ns),
    ]
    assert list(stuck(strictly, Log(), log))
