"""The claims on elections hold for the states of replicas in a real trace.

The states are computed from Kafka's TRACE logs. Each claim fails on a trace in which one event is
changed or left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from checkers.tracing.logged_events import Event
from checkers.tracing.replication_lines import Step
from checkers.trials.moments import Contents, Life, moments, partition_events
from model.vocabulary import LeaderEpoch
from properties.claims.elections import ALWAYS, SOMETIMES, Moment, Watched
from properties.claims.replication import Published
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode

TRACE = Path(__file__).parents[2] / "data" / "kafka_trace"
LATER_NS = 10**18


@cache
def recorded() -> Sequence[Event]:
    """Returns the recorded events of partition `tt-0` with three replicas.

    A leader is killed, and another leader is paused.
    """
    return partition_events([TRACE / f"broker-{node}.log.gz" for node in range(4)], "tt-0")


def states(
    events: Iterable[Event], lives: Iterable[Life] = (), contents: Contents | None = None
) -> tuple[Moment, ...]:
    return tuple(moments(events, lives, contents or Contents(), lambda at_ns: at_ns // 1_000_000))


def watched(seen: tuple[Moment, ...], log: Moment | None = None) -> Watched:
    """Returns what the claims on elections check: the states of the replicas, and the final log.

    The final log is the longest log of any replica in the last state.
    """
    replicas = (log or seen[-1]).replicas.values()
    longest = max(replicas, key=lambda replica: len(replica.log))
    published = Published(
        history=(), log=tuple((it.offset, it.value) for it in longest.log), sessions={}
    )
    return Watched(published=published, moments=seen, min_insync_replicas=2)


def broken(seen: tuple[Moment, ...]) -> set[str]:
    return {name for name, claim in ALWAYS.items() if claim(watched(seen))}


def is_a(event: Event, step: Step) -> bool:
    return isinstance(event.step, Step) and event.step is step


def changed(step: Step, change: Callable[[Event], Event | None], at: int = 0) -> Sequence[Event]:
    """Returns the recorded trace with one event changed or left out.

    The event is chosen by its kind and by its number among the events of this kind, from 0 on. The
    given function returns the changed event, or None to leave the event out.
    """
    places = [place for place, event in enumerate(recorded()) if is_a(event, step)]
    one = change(recorded()[places[at]])
    return [*recorded()[: places[at]], *([one] if one else []), *recorded()[places[at] + 1 :]]


def test_a_real_trace_breaks_no_claim() -> None:
    seen = states(recorded())
    last = seen[-1]
    assert [len(replica.log) for replica in last.replicas.values()] == [182] * 3
    assert {replica.high_watermark for replica in last.replicas.values()} == {182}
    assert {one.leader_epoch for one in seen} == {0, 1, 2, 3, 4}
    assert {name for one in seen for name, _ in one.leaders} == {1, 2, 3}
    assert broken(seen) == set()


def test_a_replica_in_sync_without_a_committed_record_is_noticed() -> None:
    places = [
        place
        for place, event in enumerate(recorded())
        if is_a(event, Step.COPY) and event.number("last") == 20
    ]
    events = [event for place, event in enumerate(recorded()) if place != places[0]]
    assert "committed_definition" in broken(states(events))


def test_a_high_watermark_that_advances_below_the_minimum_is_noticed() -> None:
    def alone(event: Event) -> Event:
        return replace(event, fields={**event.fields, "isr": frozenset({event.line.node})})

    events = changed(Step.LEAD, alone)
    assert "committed_definition" in broken(states(events))


def test_the_election_of_a_replica_that_was_not_in_sync_is_noticed() -> None:
    def without_the_next_leader(event: Event) -> Event:
        return replace(event, fields={**event.fields, "isr": frozenset({1, 2})})

    assert "clean_election" in broken(states(changed(Step.CREATE, without_the_next_leader)))


def test_a_leader_epoch_with_two_leaders_is_noticed() -> None:
    def of_the_first_epoch(event: Event) -> Event:
        return replace(event, fields={**event.fields, "leader_epoch": 0})

    assert "writes_to_leader" in broken(states(changed(Step.LEAD, of_the_first_epoch, at=1)))


def test_a_truncated_record_that_was_committed_is_noticed() -> None:
    step = next(event for event in recorded() if is_a(event, Step.TRUNCATE))
    last = recorded()[-1]
    fields = {"offset": 100}
    truncates = replace(step, fields=fields, line=replace(last.line, node=2, at_ns=LATER_NS))
    seen = states([*recorded(), truncates])
    goal = SOMETIMES["unclean_election"]["a replica drops what was committed"]
    assert goal(watched(seen))
    assert not goal(watched(states(recorded())))


def test_different_contents_at_one_offset_are_noticed(tmp_path: Path) -> None:
    contents = Contents()
    for broker, value in ((1, b"yes"), (2, b"no")):
        folder = tmp_path / str(broker)
        folder.mkdir()
        batch = encode((Record(value=value),), leader_epoch=LeaderEpoch(0))
        (folder / "00000000000000000000.log").write_bytes(batch + batch[:30])  # and a torn one
        contents.look(broker, folder)
    contents.look(3, tmp_path / "none")
    assert contents.entry(1, 0, 0) == (0, 0, "yes")
    assert contents.entry(3, 0, 0) == (0, 0, "yes")  # as another broker has it
    assert contents.entry(3, 1, 0) == (1, 0, "offset 1 of leader epoch 0")
    assert contents.epoch(1, 0) == 0
    assert {"identical_replicas", "writes_to_leader"} <= broken(
        states(recorded(), contents=contents)
    )


def test_a_killed_broker_is_down_until_it_logs_a_role_again() -> None:
    created = recorded()[0].line.at_ns
    lives = (
        Life(at_ns=created - 2, broker=3, is_up=False),
        Life(at_ns=LATER_NS, broker=1, is_up=False),
        Life(at_ns=LATER_NS + 1, broker=1, is_up=True),
        Life(at_ns=LATER_NS + 2, broker=9, is_up=False),  # no replica of this partition
    )
    seen = states(recorded(), lives)
    assert not seen[0].replicas[3].is_up
    one = seen[-1].replicas[1]
    assert (one.is_up, one.is_registered, one.leads) == (True, False, False)


def test_a_trace_without_the_creation_has_no_states() -> None:
    later = [event for event in recorded() if not is_a(event, Step.CREATE)]
    assert states(later) == ()
    assert states([], [Life(at_ns=1, broker=1, is_up=False)]) == ()


def test_a_partition_that_no_line_names_has_no_events() -> None:
    assert not partition_events([TRACE / "broker-0.log.gz"], "none-0")


@pytest.mark.parametrize("goal", [*SOMETIMES["isr_shrinks"]])
def test_a_trace_without_kills_reaches_no_goal_of_a_shrinking_isr(goal: str) -> None:
    assert not SOMETIMES["isr_shrinks"][goal](watched(states(recorded())))
