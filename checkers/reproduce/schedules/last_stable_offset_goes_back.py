"""The last stable offset goes back, because a clean restart forgets an unreplicated marker.

Until the marker of a transaction is replicated, the last stable offset stays at the first record of
the transaction. The leader restarts cleanly and reads its producer snapshot. The snapshot has no
transactions that have ended, even if their markers are not replicated. So the last stable offset
jumps to the high watermark, and readers at read_committed receive the records. If the next leader
does not have the marker, the transaction is open in its log, and the last stable offset goes back.

Source: ProducerStateManager.loadProducerEntry; ProducerStateManager.firstUnstableOffset; KIP-98.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import (
    all_of,
    begin,
    begin_commit,
    coordinate_at,
    fetch_committed,
    lift,
    nothing,
    pause_for,
    restart,
    rules,
    to,
)
from checkers.reproduce.checks import coordinates, done, is_noted, log_has, partition
from checkers.reproduce.common_steps import two_replicas
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.systems.apache_kafka.settings import replicated
from checkers.systems.proxies.rules import Hold, Match
from checkers.systems.system import Ability, Layout
from reference_impl.wire.messages.apis import Api

LAYOUT: Final = Layout(
    brokers=3,
    proxied=True,
    features={"eligible.leader.replicas.version": 1},
    settings={
        "replica.lag.time.max.ms": "60000",  # no replica leaves the ISR because it is slow
        **replicated(1),
    },
)
FETCHES_OF_2: Final = Hold(of=Match(sender=2, receiver=1, api=Api.FETCH), part="request")
NOTHING: Final = "last stable offset 0, records []"
A: Final = "last stable offset 1, records [a]"


def _steps(*, restarted: bool) -> tuple[Step, ...]:
    return (
        two_replicas(min_insync_replicas="2", unclean_leader_election_enable="false"),
        Step("broker 3 coordinates the transactions", coordinate_at(3), coordinates(3)),
        Step("a transaction appends a", all_of(begin("a"), pause_for(1)), log_has(1, 2)),
        Step(
            "broker 2 copies no more",
            all_of(rules(two=FETCHES_OF_2), pause_for(2)),  # requests that wait are answered
            done,
        ),
        Step(
            "the transaction commits, and broker 1 alone has the marker",
            begin_commit,
            log_has(2, 1),
        ),
        Step(
            "broker 2 stops cleanly",
            all_of(to(Ability.STOP, 2), lift()),
            partition(leader=1, isr=(1,), elr=(2,)),
        ),
        Step(
            "a reader at read_committed receives nothing",
            fetch_committed(at=1),
            is_noted(NOTHING),
        ),
        Step(
            "broker 1 restarts cleanly, and leads again",
            restart(Ability.STOP, 1),
            partition(leader=1, isr=(1,), at=1),
        )
        if restarted
        else Step("broker 1 goes on", nothing, partition(leader=1, isr=(1,), at=1)),
        Step(
            "a reader at read_committed receives a"
            if restarted
            else "a reader at read_committed still receives nothing",
            fetch_committed(at=1),
            is_noted(A if restarted else NOTHING),
        ),
        Step(
            "broker 1 is killed, and broker 2 leads without the marker",
            all_of(to(Ability.KILL, 1), to(Ability.START, 2)),
            partition(leader=2, isr=(2,), at=2),
            within_s=60,
        ),
        Step(
            "a reader at read_committed receives nothing from broker 2",
            all_of(pause_for(1), fetch_committed(at=2)),
            is_noted(NOTHING),
        ),
    )


REPRODUCTION: Final = Reproduction(
    name="last-stable-offset-goes-back",
    promise=(
        "Always: a record that was read at read_committed stays below the last stable offset."
    ),
    because=(
        "A producer snapshot does not have the transactions that ended and whose marker is not"
        " replicated."
    ),
    case=Case(
        about="broker 1 restarts cleanly",
        layout=LAYOUT,
        steps=_steps(restarted=True),
        breaks=True,
    ),
    control=Case(
        about="broker 1 does not restart",
        layout=LAYOUT,
        steps=_steps(restarted=False),
        breaks=False,
    ),
    since=(4, 0),
    page="last-stable-offset-goes-back",
)
