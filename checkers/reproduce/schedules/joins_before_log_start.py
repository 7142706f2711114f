"""Records that DeleteRecords has deleted are read again, because a follower joins the ISR before it
has the leader's log start.

1. Messages of broker 2 do not arrive. The controller fences broker 2, and the ISR is [1].
   DeleteRecords waits only for brokers that are not fenced, so broker 1 answers at once.
2. The controller receives messages of broker 2 again, and later broker 1 does, too. After the
   first fetch request of broker 2, broker 1 adds broker 2 to the ISR. The log of broker 2 has all
   records, and broker 1 does not compare the log starts.
3. The response to this fetch request has the log start of broker 1, but it is late. Without new
   records, Kafka delays each response by up to `replica.fetch.wait.max.ms`. The reproduction cuts
   the link from broker 1 to broker 2 instead.
4. Broker 1 is killed, and broker 2 leads. Its log still begins at offset 0.

Source: Partition.lowWatermarkIfLeader; Partition.isFollowerInSync; ReplicaManager.fetchMessages;
KIP-107.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import (
    all_of,
    delete_all,
    lift,
    list_offsets,
    nothing,
    pause_for,
    rules,
    send,
    to,
)
from checkers.reproduce.checks import acknowledged, is_noted, partition, registered
from checkers.reproduce.common_steps import two_replicas
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.reproduce.schedules.deleted_records_return import EARLIEST, VALUES
from checkers.systems.proxies.rules import Cut
from checkers.systems.system import Ability, Layout

LAYOUT: Final = Layout(brokers=2, proxied=True)
RESPONSES: Final = Cut(sender=1, receiver=2)


def _steps(*, responses_arrive: bool) -> tuple[Step, ...]:
    log_start = 3 if responses_arrive else 0
    return (
        two_replicas(min_insync_replicas="1", unclean_leader_election_enable="false"),
        Step("3 records are acknowledged with acks=all", send(*VALUES), acknowledged(*VALUES)),
        Step("broker 2 has heard the high watermark", pause_for(2), partition(isr=(1, 2))),
        Step(
            "broker 1 and the controller receive nothing from broker 2",
            rules(broker=Cut(sender=2, receiver=1), controller=Cut(sender=2, receiver=0)),
            partition(leader=1, isr=(1,), at=1),
        ),
        Step("broker 2 is fenced", nothing, registered(1, at=1)),
        Step(
            "broker 1 answers that the records before offset 3 are deleted",
            delete_all(3, at=1),
            is_noted("NONE, low watermark 3"),
        ),
        Step(
            "the controller receives messages of broker 2 again",
            lift("controller"),
            registered(1, 2, at=1),
        ),
        Step(
            "broker 1 receives them too, and its responses arrive: broker 2 is in the ISR",
            all_of(lift("broker"), pause_for(2)),
            partition(leader=1, isr=(1, 2), at=1),
        )
        if responses_arrive
        else Step(
            "broker 1 receives them too, and its responses do not arrive: broker 2 is in the ISR",
            all_of(rules(responses=RESPONSES), lift("broker")),
            partition(leader=1, isr=(1, 2), at=1),
        ),
        Step(
            "broker 1 is killed: broker 2 leads",
            to(Ability.KILL, 1),
            partition(leader=2, isr=(2,), at=2),
            within_s=60,
        ),
        Step(
            f"the log begins at offset {log_start}",
            list_offsets(EARLIEST, at=2),
            is_noted(f"offset {log_start}"),
        ),
    )


REPRODUCTION: Final = Reproduction(
    name="joins-before-log-start",
    promise="Always: a record that DeleteRecords has deleted is read by no consumer again.",
    because=(
        "A follower joins the ISR before it has the leader's log start, and may be elected with its"
        " old log start."
    ),
    case=Case(
        about="broker 1 is killed before it answers broker 2",
        layout=LAYOUT,
        steps=_steps(responses_arrive=False),
        breaks=True,
    ),
    control=Case(
        about="broker 1 is killed after it has answered broker 2",
        layout=LAYOUT,
        steps=_steps(responses_arrive=True),
        breaks=False,
    ),
    page="deleted-records-return",
)
