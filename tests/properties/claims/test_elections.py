"""Claims about the ISR and elections hold in a correct run, and fail in runs that break them.

A log is written as values with their leader epochs, and a bar at the high watermark: `a0 b0 | c1`.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.histories import Operation, Outcome, Send
from properties.claims.elections import ALWAYS, NOBODY, SOMETIMES, Entry, Moment, Replica, Watched
from properties.claims.replication import Published

MS = 1_000_000


def replica(
    text: str, *, up: bool = True, leads: int | None = None, isr: tuple[int, ...] = ()
) -> Replica:
    """Builds a replica from text; `leads` is the leader epoch if the replica is a leader."""
    committed, _, _ = text.partition("|")
    log = tuple(
        Entry(offset, int(word[1:]), word[0])
        for offset, word in enumerate(word for word in text.split() if word != "|")
    )
    return Replica(
        is_up=up,
        leads=leads is not None,
        leader_epoch=leads or 0,
        in_sync=isr,
        high_watermark=len(committed.split()),
        log=log,
    )


def moment(
    at_ms: int,
    *replicas: Replica,
    leader: int = 1,
    epoch: int = 0,
    isr: tuple[int, ...] = (1, 2),
    elr: tuple[int, ...] = (),
) -> Moment:
    return Moment(
        at_ms=at_ms,
        leader=leader,
        leader_epoch=epoch,
        in_sync=isr,
        eligible=elr,
        replicas=dict(enumerate(replicas, 1)),
    )


def acknowledged(at_ms: int, value: str, *, outcome: Outcome = "ok") -> Operation:
    return Operation(
        process=1,
        f="send",
        outcome=outcome,
        invoked_ns=at_ms * MS,
        completed_ns=at_ms * MS,
        did=(Send("orders-0", value, None),),
        error=None if outcome == "ok" else "INVALID_RECORD",
    )


def watched(*moments: Moment, log: str, history: tuple[Operation, ...] = ()) -> Watched:
    entries = tuple(enumerate(log.split()))
    return Watched(
        published=Published(history=history, log=entries), moments=moments, min_insync_replicas=2
    )


LEADS = replica("a0 | b0", leads=0, isr=(1, 2))
FOLLOWS = replica("a0 | b0")
BEFORE = moment(1, LEADS, FOLLOWS)
AFTER = moment(2, replica("a0 | b0", up=False), replica("a0 b0 |", leads=1), leader=2, epoch=1)

GOOD = watched(BEFORE, AFTER, log="a b", history=(acknowledged(1, "a"),))

BROKEN = {
    "an in-sync replica lacks a committed record": (
        watched(moment(1, replica("a0 |", leads=0), replica("|")), log="a"),
        {"committed_definition"},
    ),
    "a replica joins the ISR without a committed record": (
        watched(
            moment(1, replica("a0 |", leads=0), replica("|"), isr=(1,)),
            moment(2, replica("a0 |", leads=0), replica("|")),
            log="a",
        ),
        {"committed_definition"},
    ),
    "a leader that is alone advances its high watermark": (
        watched(
            moment(1, replica("| a0", leads=0, isr=(1,)), FOLLOWS, isr=(1,)),
            moment(2, replica("a0 |", leads=0, isr=(1,)), FOLLOWS, isr=(1,)),
            log="a",
        ),
        {"committed_definition"},
    ),
    "two replicas have different committed records": (
        watched(moment(1, replica("a0 |", up=False), replica("b1 |")), log="b"),
        {"identical_replicas"},
    ),
    "only one replica has an acknowledged record": (
        watched(
            moment(1, replica("| a0", leads=0), replica("|")),
            log="a",
            history=(acknowledged(1, "a"),),
        ),
        {"min_isr_refuses"},
    ),
    "a record that all replicas had is lost": (
        watched(BEFORE, log="b", history=(acknowledged(1, "a"),)),
        {"survives_f_failures", "clean_election", "wait_for_last_leader", "writes_to_leader"},
    ),
    "a record that some replicas had is lost": (
        watched(
            moment(1, FOLLOWS, FOLLOWS, isr=(1,)), log="a", history=(acknowledged(1, "b"),)
        ),
        {"clean_election", "wait_for_last_leader"},
    ),
    "an out-of-sync replica is elected while an in-sync one lives": (
        watched(moment(1, LEADS, FOLLOWS, isr=(1,)), AFTER, log="a b"),
        {"clean_election"},
    ),
    "a send ends with an error": (
        watched(BEFORE, log="a b", history=(acknowledged(1, "c", outcome="fail"),)),
        {"clean_election"},
    ),
    "a replica is elected that was not in sync last": (
        watched(
            moment(1, LEADS, replica("a0 | b0", up=False), isr=(1,)),
            moment(2, replica("a0 | b0", up=False), FOLLOWS, leader=NOBODY, epoch=1, isr=(1,)),
            replace(AFTER, at_ms=3, leader_epoch=2, in_sync=(2,)),
            log="a b",
        ),
        {"wait_for_last_leader"},
    ),
    "two brokers lead in one leader epoch": (
        watched(moment(1, LEADS, replica("a0 | b0", leads=0)), log="a b"),
        {"writes_to_leader"},
    ),
    "one leader epoch has two records at an offset": (
        watched(moment(1, LEADS, replica("a0 | c0")), log="a b"),
        {"writes_to_leader"},
    ),
    "a committed record is not in the log": (
        watched(BEFORE, log="b a"),
        {"writes_to_leader"},
    ),
}  # fmt: skip


def breached(run: Watched) -> set[str]:
    return {breach.claim for holds in ALWAYS.values() for breach in holds(run)}


def test_a_correct_run_breaks_no_claim() -> None:
    assert breached(GOOD) == set()


@pytest.mark.parametrize("case", BROKEN)
def test_a_run_breaks_exactly_these_claims(case: str) -> None:
    run, claims = BROKEN[case]
    assert breached(run) == claims


def test_every_claim_is_broken_by_some_run() -> None:
    assert {claim for _, claims in BROKEN.values() for claim in claims} == set(ALWAYS)


def test_without_a_live_in_sync_replica_another_may_be_elected() -> None:
    # wait_for_last_leader judges that the election did not wait.
    leaderless = moment(1, replica("a0 |", up=False), FOLLOWS, leader=NOBODY, isr=(1,))
    assert ALWAYS["clean_election"](watched(leaderless, AFTER, log="a b")) == ()


@pytest.mark.parametrize("is_registered", [False, True])
def test_a_broker_that_restarts_is_no_isr_member_until_it_is_registered(
    is_registered: bool,
) -> None:
    back = replace(FOLLOWS, is_registered=is_registered)
    leaderless = moment(1, back, FOLLOWS, leader=NOBODY, isr=(1,))
    breaches = ALWAYS["clean_election"](watched(leaderless, AFTER, log="a b"))
    assert bool(breaches) is is_registered


def test_an_eligible_leader_replica_may_be_elected() -> None:
    left = moment(1, LEADS, FOLLOWS, isr=(), elr=(2,))
    assert breached(watched(left, AFTER, log="a b")) == set()


def test_a_record_that_is_committed_while_the_log_is_read_may_be_missing() -> None:
    """With acks=1, a send is acknowledged before its record is committed. So the run may read the
    final log before the commit.
    """
    committed = moment(3, replica("a0 b0 |", leads=0, isr=(1, 2)), replica("a0 b0 |"))
    run = watched(BEFORE, committed, log="a")
    assert breached(run) == {"writes_to_leader"}
    read_early = replace(run, published=replace(run.published, read_at_ms=2))
    assert breached(read_early) == set()
    read_late = replace(run, published=replace(run.published, read_at_ms=4))
    assert breached(read_late) == {"writes_to_leader"}


def test_a_breach_names_the_record_and_the_time() -> None:
    run, _ = BROKEN["an in-sync replica lacks a committed record"]
    (breach,) = ALWAYS["committed_definition"](run)
    assert str(breach) == (
        "committed_definition: a was committed at offset 0, "
        "but at 1 ms replica 2 is in sync without it"
    )


def shown(claim: str, run: Watched) -> list[str]:
    return [goal for goal, is_shown in SOMETIMES[claim].items() if is_shown(run)]


def test_the_isr_shrinks_to_the_leader_which_commits_alone() -> None:
    down = replica("|", up=False)
    alone = moment(2, replica("| a0", leads=0, isr=(1,)), down, isr=(1,))
    commits = moment(3, replica("a0 |", leads=0, isr=(1,)), down, isr=(1,))
    assert shown("isr_shrinks", watched(BEFORE, alone, log="a")) == ["a failed replica leaves"]
    assert shown("isr_shrinks", watched(BEFORE, alone, commits, log="a")) == [
        "a failed replica leaves",
        "the leader commits alone",
    ]


def test_an_unclean_election_loses_acknowledged_records_and_replicas_drop_them() -> None:
    history = (acknowledged(1, "a"),)
    assert shown("unclean_election", GOOD) == []
    assert shown("unclean_election", watched(BEFORE, log="b", history=history)) == [
        "acknowledged and lost"
    ]
    dropped = moment(2, replica("c1 |"), FOLLOWS)
    assert shown("unclean_election", watched(BEFORE, dropped, log="c", history=())) == [
        "a replica drops what was committed"
    ]
