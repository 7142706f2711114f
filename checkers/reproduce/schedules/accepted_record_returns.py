"""A share group receives a record again that a member has accepted, after a change of leader.

The leader of a partition writes each acknowledgement to the share coordinator, together with the
start offset of the group. If a write is lost, the leader repeats it after later writes, but still
with the old start offset. The coordinator stores this old start offset, although it has already
forgotten the records before the newer start offset. So the next leader delivers these records
again.

Source: KIP-932, in Kafka 4.3: PersisterStateManager.WriteStateHandler, ShareCoordinatorShard.merge.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import all_of, create_topic, rules, send, to
from checkers.reproduce.checks import acknowledged, acted, done, is_noted, partition
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.reproduce.share_actions import (
    accept_record,
    await_answer,
    begin_release,
    configure_group,
    create_share_coordinator,
    join,
    receive,
)
from checkers.systems.proxies.rules import DropRequest, Match
from checkers.systems.system import Ability, Layout, Settings
from reference_impl.wire.messages.apis import Api

WRITES: Final = Match(sender=1, receiver=2, api=Api.WRITE_SHARE_GROUP_STATE, count=4)
STATE: Final = "share.coordinator.state.topic"
ONE_COORDINATOR: Final[Settings] = {
    f"{STATE}.num.partitions": "1",
    f"{STATE}.replication.factor": "1",
    f"{STATE}.min.isr": "1",
}
LAYOUT: Final = Layout(brokers=2, proxied=True, settings=ONE_COORDINATOR)


def _received(member: str, value: str) -> Step:
    return Step(f"{member} gets {value}", receive(member), is_noted(f"{value}, delivery 1"))


def _accepted(member: str, value: str) -> Step:
    return Step(
        f"{member} accepts {value}, which succeeds",
        accept_record(member, value),
        is_noted("NONE"),
    )


BEGUN: Final = (
    Step("broker 2 is the share coordinator", create_share_coordinator(2), done),
    Step("broker 1 leads", create_topic(1, 2), partition(leader=1, isr=(1, 2))),
    Step(
        "m1, m2 and m3 join a share group that begins at the start of the log",
        all_of(
            configure_group(
                share_auto_offset_reset="earliest", share_record_lock_duration_ms="60000"
            ),
            join("m1", "m2", "m3"),
        ),
        done,
    ),
    Step("a, b and c are acknowledged", send("a", "b", "c"), acknowledged("a", "b", "c")),
    _received("m1", "a"),
    _received("m2", "b"),
    _received("m3", "c"),
)
LOST: Final = Step(
    "m2 releases b: four requests to store this are lost",
    all_of(rules(lost=DropRequest(of=WRITES)), begin_release("m2", "b")),
    acted("lost", 4),
)
ACCEPTED: Final = (_accepted("m1", "a"), _accepted("m3", "c"))
STORED: Final = Step("the release of b is stored", await_answer("m2"), is_noted("NONE"))
NEXT_LEADER: Final = Step(
    "broker 1 stops: broker 2 leads", to(Ability.STOP, 1), partition(leader=2)
)
RETURNS: Final = Step(
    "m1 gets a again, as if for the first time", receive("m1"), is_noted("a, delivery 1")
)
STAYS_AWAY: Final = Step("m1 gets b, and not a", receive("m1"), is_noted("b, delivery 2"))
COUNTEREXAMPLE: Final = Instance(
    spec="share-group",
    variant="kafka-4.3",
    settings=("members=1", "writes=2", "max_failures=0", "max_deleted=0"),
    claim="acknowledgements_last",
)
PROMISE: Final = (
    "Always: a share group does not get a record again after a member has accepted the record,"
    " and was answered that this succeeded."
)
BECAUSE: Final = (
    "The share coordinator takes the start offset of a repeated write that arrives late, after"
    " it has forgotten the records below a later start offset."
)


REPRODUCTION: Final = Reproduction(
    name="accepted-record-returns",
    promise=PROMISE,
    because=BECAUSE,
    case=Case(
        about="the repeated write arrives after two later ones",
        layout=LAYOUT,
        steps=(*BEGUN, LOST, *ACCEPTED, STORED, NEXT_LEADER, RETURNS),
        breaks=True,
    ),
    control=Case(
        about="the repeated write arrives before the two others",
        layout=LAYOUT,
        steps=(*BEGUN, LOST, STORED, *ACCEPTED, NEXT_LEADER, STAYS_AWAY),
        breaks=False,
    ),
    model=(COUNTEREXAMPLE,),
    since=(4, 2),
    page="accepted-record-returns",
)
