"""Each claim about delivery is checked on runs of a few values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.histories import MicroOperation, Operation, Poll, Rebalanced
from properties.claims.delivery import ALWAYS, SOMETIMES, Delivered, Rewind

SENT = ("a", "b")


def broken(*, stored: tuple[str, ...], downstream: tuple[str, ...]) -> dict[str, list[str]]:
    delivered = Delivered(sent=SENT, stored=stored, downstream=downstream)
    breaches = {claim: [it.why for it in claimed(delivered)] for claim, claimed in ALWAYS.items()}
    return {claim: why for claim, why in breaches.items() if why}


def test_values_stored_once_and_sent_once_break_nothing() -> None:
    assert broken(stored=("b", "a"), downstream=SENT) == {}


def test_a_value_missing_in_the_database_is_a_loss() -> None:
    lost = ["b is not in the database"]
    assert broken(stored=("a",), downstream=SENT) == {
        "at_least_once": lost,
        "default_is_at_least_once": lost,
        "exactly_once_external": lost,
        "idempotent_consumer": lost,
        "two_phase_commit": lost,
        "kafka_and_database_not_atomic": ["b is in the database 0 times and downstream 1 times"],
    }


def test_a_value_twice_in_the_database_is_a_repeat() -> None:
    repeat = ["a is in the database 2 times"]
    assert broken(stored=("a", "b", "a"), downstream=SENT) == {
        "at_most_once": repeat,
        "exactly_once_external": repeat,
        "idempotent_consumer": repeat,
        "two_phase_commit": repeat,
        "kafka_and_database_not_atomic": ["a is in the database 2 times and downstream 1 times"],
    }


def test_a_loss_and_a_repeat_downstream_break_the_pipeline() -> None:
    assert broken(stored=SENT, downstream=("a", "a")) == {
        "exactly_once_pipeline": ["b is not downstream", "a is downstream 2 times"],
        "kafka_and_database_not_atomic": [
            "a is in the database 1 times and downstream 2 times",
            "b is in the database 1 times and downstream 0 times",
        ],
    }


@given(st.lists(st.sampled_from("ab"), max_size=4))
def test_once_is_at_most_once_and_at_least_once(stored: list[str]) -> None:
    found = broken(stored=tuple(stored), downstream=SENT)
    once = sorted(stored) == ["a", "b"]
    assert once is ("exactly_once_external" not in found)
    assert once is not ("at_most_once" in found or "at_least_once" in found)


def test_a_side_effect_can_repeat_though_its_result_is_sent_once() -> None:
    shown = SOMETIMES["side_effects_repeat"]["done twice, sent once"]
    assert shown(Delivered(sent=SENT, stored=("a", "a", "b"), downstream=SENT))
    assert not shown(Delivered(sent=SENT, stored=SENT, downstream=SENT))
    assert not shown(Delivered(sent=SENT, stored=("a", "a"), downstream=("a", "a", "b")))


def poll(at_ns: int, *offsets: int, process: int = 7, and_then: str = "") -> Operation:
    did: tuple[MicroOperation, ...] = tuple(Poll("k-0", it, f"v{it}") for it in offsets)
    if and_then:
        did = (*did, Rebalanced("k-0"))
    return Operation(
        process=process, f="poll", outcome="ok", invoked_ns=at_ns, completed_ns=at_ns, did=did
    )


def rewound(*history: Operation, rewinds: tuple[Rewind, ...] = (Rewind(7, 1, 10),)) -> list[str]:
    log = tuple((offset, f"v{offset}") for offset in range(4))
    run = Delivered(sent=(), log=log, rewinds=rewinds, history=history)
    return [it.why for it in ALWAYS["rewind_redelivers"](run)]


@pytest.mark.parametrize(
    "history",
    [
        (poll(5, 0, 1, 2, 3), poll(15, 1, 2), poll(20, 3)),
        (poll(5, 0, 1, 2), poll(15, 1)),  # it did not come further
        (
            poll(15, 1),
            poll(20, and_then="rebalance"),
            poll(25, 3),
        ),  # another member owns it by then
        (poll(15, 3, process=8), poll(16, 1)),
    ],
)
def test_after_a_rewind_the_records_from_its_offset_follow(history: tuple[Operation, ...]) -> None:
    assert rewound(*history) == []


def test_a_consumer_that_reads_on_or_skips_was_not_rewound() -> None:
    assert rewound(poll(5, 0, 1, 2), poll(15, 3)) == [
        "after a rewind to offset 1 the consumer received offsets [3], the log has [1]"
    ]
    assert rewound(poll(15, 1, 3)) == [
        "after a rewind to offset 1 the consumer received offsets [1, 3], the log has [1, 2]"
    ]


def test_a_rewind_is_judged_up_to_the_next_one() -> None:
    twice = (Rewind(7, 1, 10), Rewind(7, 0, 20))
    assert rewound(poll(15, 1), poll(25, 0, 1), rewinds=twice) == []
    assert len(rewound(poll(15, 1), poll(25, 2), rewinds=twice)) == 1
