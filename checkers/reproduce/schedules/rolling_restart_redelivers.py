"""A rolling restart lets a share group get a record again that a member has accepted.

Broker 2 is the share coordinator, and restarts. During the restart, a member releases a record. The
leader cannot write the release, and repeats the write after one, two, four and eight seconds. When
broker 2 is back, acknowledgements of other members are written first. The repeated write arrives
later, with the old start offset. When the leader stops, the next leader delivers an accepted record
again.

The reproduction `accepted-record-returns` has the same steps, but with lost requests instead of a
restart.

Source: KIP-932, in Kafka 4.3: PersisterStateManager.WriteStateHandler, ShareCoordinatorShard.merge.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import all_of, nothing, start, to
from checkers.reproduce.checks import done, is_noted, partition
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.reproduce.schedules.accepted_record_returns import (
    ACCEPTED,
    BECAUSE,
    BEGUN,
    COUNTEREXAMPLE,
    NEXT_LEADER,
    ONE_COORDINATOR,
    PROMISE,
    RETURNS,
    STAYS_AWAY,
    STORED,
)
from checkers.reproduce.share_actions import await_answer, begin_release
from checkers.reproduce.share_member import NO_ANSWER
from checkers.systems.system import Ability, Layout

LAYOUT: Final = Layout(brokers=2, settings=ONE_COORDINATOR)
RESTARTED: Final = (
    Step("broker 2 stops cleanly", to(Ability.STOP, 2), partition(leader=1, isr=(1,))),
    Step("m2 releases b", begin_release("m2", "b"), done),
    Step(
        "broker 2 starts again: the release of b is not stored yet",
        all_of(start(2), await_answer("m2", within_s=0)),
        is_noted(NO_ANSWER),
    ),
)
REJOINED: Final = Step("broker 2 is in the ISR again", nothing, partition(leader=1, isr=(1, 2)))


REPRODUCTION: Final = Reproduction(
    name="rolling-restart-redelivers",
    promise=PROMISE,
    because=BECAUSE,
    case=Case(
        about="the repeated write arrives after two later ones",
        layout=LAYOUT,
        steps=(*BEGUN, *RESTARTED, *ACCEPTED, STORED, REJOINED, NEXT_LEADER, RETURNS),
        breaks=True,
    ),
    control=Case(
        about="the repeated write arrives before the two others",
        layout=LAYOUT,
        steps=(*BEGUN, *RESTARTED, STORED, *ACCEPTED, REJOINED, NEXT_LEADER, STAYS_AWAY),
        breaks=False,
    ),
    model=(COUNTEREXAMPLE,),
    since=(4, 2),
    page="accepted-record-returns",
)
