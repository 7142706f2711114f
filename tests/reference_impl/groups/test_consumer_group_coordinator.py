"""Groups of KIP-848 at their coordinator: life, offsets, time, failover, and the classic ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.vocabulary import Offset, TopicPartition
from reference_impl.broker.broker import Broker
from reference_impl.groups.consumer_group import ConsumerGroup
from reference_impl.groups.coordinator import GroupCoordinator
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.protocol.consumer_groups import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribed,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeated,
)
from reference_impl.protocol.controller import CreatePartitions
from reference_impl.protocol.groups import (
    CommitOffsets,
    CommittedOffset,
    FetchedOffsets,
    FetchOffsets,
    HeartbeatGroup,
    JoinGroup,
    LeaveGroup,
)
from reference_impl.protocol.messages import ErrorCode, InitProducerId, NodeId
from reference_impl.protocol.transactions import AddOffsetsToTxn
from tests.reference_impl.conftest import Conversation

Converse = Callable[..., Conversation]
NONE = ErrorCode.NONE


class Member:
    """A consumer that does as it is told."""

    def __init__(
        self,
        talk: Conversation,
        name: str,
        instance: str | None = None,
        rebalance_timeout_ms: int = 10_000,
    ) -> None:
        self.talk, self.name, self.instance = talk, name, instance
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.at = talk.coordinator("g", transactional=False)
        self.epoch = 0
        self.owned: tuple[TopicPartition, ...] = ()

    def request(self, **other: Any) -> ConsumerGroupHeartbeat:
        told: dict[str, Any] = {"member_epoch": self.epoch, "owned": self.owned} | other
        if told["member_epoch"] == 0:
            told |= {"rebalance_timeout_ms": self.rebalance_timeout_ms, "owned": ()}
            told.setdefault("topics", ("t",))
        return ConsumerGroupHeartbeat(
            group="g", member_id=self.name, instance_id=self.instance, **told
        )

    def ask(self, **other: Any) -> ConsumerGroupHeartbeated:
        answer = self.talk.ask(self.request(**other), self.at)
        assert isinstance(answer, ConsumerGroupHeartbeated)
        return answer

    def beat(self, **other: Any) -> ErrorCode:
        """Says that it lives, and hears; what it shall give up it gives up with the next one."""
        answer = self.ask(**other)
        if answer.error is NONE:
            self.epoch = answer.member_epoch
            self.owned = self.owned if answer.assignment is None else answer.assignment
        return answer.error

    @property
    def part(self) -> list[int]:
        return [place.index for place in self.owned]

    def commit(self, offset: int, index: int = 0, **other: Any) -> ErrorCode:
        place = TopicPartition("t", index)
        who: dict[str, Any] = {"member_id": self.name, "generation": self.epoch} | other
        request = CommitOffsets(
            group="g", offsets=((place, CommittedOffset(offset=Offset(offset))),), **who
        )
        return ErrorCode(self.talk.ask(request, self.at).error)

    def offset(self, index: int = 0, **other: Any) -> int | ErrorCode | None:
        request = FetchOffsets(group="g", topic_partitions=(TopicPartition("t", index),), **other)
        answer = self.talk.ask(request, self.at)
        assert isinstance(answer, FetchedOffsets)
        if answer.error:
            return answer.error
        ((_, committed, _),) = answer.offsets
        return None if committed is None else committed.offset


def described(member: Member) -> ConsumerGroupDescribed:
    answer = member.talk.ask(ConsumerGroupDescribe(group="g"), member.at)
    assert isinstance(answer, ConsumerGroupDescribed)
    return answer


def group_at(talk: Conversation, broker: int) -> ConsumerGroup | None:
    """What the coordinator on that broker knows, with what it has just written."""
    node = talk.nodes[NodeId(broker)]
    assert isinstance(node, Broker)
    for place, role in node.local_coordinators.roles.items():
        if isinstance(role, GroupCoordinator):
            known = role.consumers.caught_up(node.replicas[place].log, NO_BUGS).groups
            if "g" in known:
                return known["g"]
    return None


@pytest.fixture
def talk(converse: Converse) -> Conversation:
    talk = converse()
    talk.create("t", 2)
    return talk


# ---------------------------------------------------------------- a member's life


def test_a_partition_moves_from_one_member_to_another_with_a_word_from_both(
    talk: Conversation,
) -> None:
    m, n = Member(talk, "m"), Member(talk, "n")
    assert (m.beat(), m.epoch, m.part, described(m).state) == (NONE, 1, [0, 1], "Stable")
    assert (n.beat(), n.epoch, n.part, described(m).state) == (NONE, 2, [], "Reconciling")
    assert (m.beat(), m.epoch, m.part) == (NONE, 1, [0])  # it is told to give up 1
    assert (n.beat(), n.part) == (NONE, [])  # which is m's until m says so
    assert (m.beat(), m.epoch) == (NONE, 2)
    assert (n.beat(), n.part, described(m).state) == (NONE, [1], "Stable")
    assert m.ask().assignment is None  # nothing is news
    assert m.ask(member_epoch=-1).member_epoch == -1
    n.beat()
    assert (n.epoch, n.part, described(n).group_epoch) == (3, [0, 1], 3)


def test_a_member_without_a_name_is_given_one(talk: Conversation) -> None:
    m = Member(talk, "")
    answer = m.ask()
    assert answer.member_id
    assert [member.member_id for member in described(m).members] == [answer.member_id]


def test_who_is_refused(talk: Conversation) -> None:
    m, n = Member(talk, "m"), Member(talk, "n")
    assert described(m).error is ErrorCode.GROUP_ID_NOT_FOUND
    assert n.ask(member_epoch=3).error is ErrorCode.GROUP_ID_NOT_FOUND
    assert m.beat() is NONE
    told = {
        n.ask(member_epoch=1).error: ErrorCode.UNKNOWN_MEMBER_ID,
        m.ask(member_epoch=9).error: ErrorCode.FENCED_MEMBER_EPOCH,
        m.ask(member_epoch=-2).error: ErrorCode.INVALID_REQUEST,
        m.ask(assignor="sticky").error: ErrorCode.UNSUPPORTED_ASSIGNOR,
    }
    assert list(told) == list(told.values())
    assert m.beat() is NONE


def test_one_whose_answer_was_lost_is_heard_an_epoch_behind(talk: Conversation) -> None:
    m, n = Member(talk, "m"), Member(talk, "n")
    m.beat()
    n.ask()
    m.ask(owned=(TopicPartition("t", 0),))  # it gives 1 up, and does not hear of epoch 2
    assert m.ask().error is ErrorCode.FENCED_MEMBER_EPOCH  # it owns what is not its own
    m.owned = m.owned[:1]
    assert (m.beat(), m.epoch) == (NONE, 2)


def test_topics_that_come_later_are_assigned(talk: Conversation) -> None:
    m = Member(talk, "m")
    m.beat(topics=("t", "u"), assignor="range")
    assert (len(m.owned), described(m).assignor) == (2, "range")
    talk.create("u", 3)
    m.beat()
    assert (len(m.owned), m.epoch) == (5, 2)
    talk.ask(CreatePartitions(topic="u", topic_partitions=4))
    m.beat()
    assert (len(m.owned), m.epoch) == (6, 3)
    m.beat(topics=("u",))
    m.beat()
    assert {place.topic for place in m.owned} == {"u"}


# ---------------------------------------------------------------- time


def test_who_is_silent_is_out_and_may_come_again(talk: Conversation) -> None:
    m, n = Member(talk, "m"), Member(talk, "n")
    m.beat()
    for _ in range(6):
        n.beat()
        talk.pass_time(8_000)
    assert [member.member_id for member in described(n).members] == ["n"]
    assert m.beat() is ErrorCode.UNKNOWN_MEMBER_ID
    n.beat()
    assert n.part == [0, 1]
    m.epoch, m.owned = 0, ()
    assert m.beat() is NONE


def test_who_is_slow_to_give_up_is_out(talk: Conversation) -> None:
    m, n = Member(talk, "m", rebalance_timeout_ms=5_000), Member(talk, "n")
    m.beat()
    n.beat()
    m.beat()
    kept = m.owned = (TopicPartition("t", 0), TopicPartition("t", 1))
    talk.pass_time(4_000)
    assert (m.beat(), m.epoch) == (NONE, 1)  # it lives, and owns it still
    m.owned = kept
    talk.pass_time(3_000)
    assert m.beat() is ErrorCode.UNKNOWN_MEMBER_ID
    n.beat()
    assert n.part == [0, 1]


# ---------------------------------------------------------------- static members


def test_a_static_member_that_leaves_for_a_while_keeps_its_part(talk: Conversation) -> None:
    old, other = Member(talk, "old", "one"), Member(talk, "other")
    for member in (old, other, old, old, other):
        member.beat()
    assert (old.part, other.part, old.epoch) == ([0], [1], 2)
    new = Member(talk, "new", "one")
    assert new.beat() is ErrorCode.UNRELEASED_INSTANCE_ID
    assert old.ask(member_epoch=-2).error is NONE
    other.beat()
    assert (other.part, described(other).group_epoch) == ([1], 2)
    assert (new.beat(), new.part, new.epoch) == (NONE, [0], 2)
    assert old.ask().error is ErrorCode.FENCED_INSTANCE_ID
    assert new.ask(member_epoch=-2).error is NONE
    for _ in range(6):
        other.beat()
        talk.pass_time(8_000)
    other.beat()
    assert other.part == [0, 1]  # the while was longer than its session


# ---------------------------------------------------------------- offsets


def test_who_may_commit_and_ask_in_which_epoch(talk: Conversation) -> None:
    m = Member(talk, "m")
    assert m.commit(1, member_id="", generation=-1) is NONE  # nobody is a member
    m.beat()
    assert m.commit(2) is NONE
    assert m.commit(3, generation=0) is ErrorCode.STALE_MEMBER_EPOCH
    assert m.commit(3, member_id="n") is ErrorCode.UNKNOWN_MEMBER_ID
    assert m.commit(3, member_id="", generation=-1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert m.offset(member_id="m", member_epoch=1) == 2
    assert m.offset(member_id="m", member_epoch=0) is ErrorCode.STALE_MEMBER_EPOCH
    assert m.offset(member_id="n", member_epoch=1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert m.offset() == 2


@pytest.mark.parametrize(
    ("bugs", "error"),
    [
        (NO_BUGS, NONE),
        (frozenset({Bug.EXACT_EPOCH_WANTED}), ErrorCode.STALE_MEMBER_EPOCH),
    ],
)
def test_an_owner_commits_an_epoch_behind_and_another_does_not(
    converse: Converse, bugs: Bugs, error: ErrorCode
) -> None:
    talk = converse(bugs=bugs)
    talk.create("t", 2)
    m, n = Member(talk, "m"), Member(talk, "n")
    m.beat()
    n.beat()
    m.ask(owned=(TopicPartition("t", 0),))
    m.ask(owned=(TopicPartition("t", 0),))  # it is in epoch 2, and has heard of 1
    assert m.commit(5, index=0) is error
    n.beat()
    assert m.commit(5, index=1) is ErrorCode.STALE_MEMBER_EPOCH  # n has it now


def test_offsets_in_a_transaction_are_taken_of_members_in_their_epoch(talk: Conversation) -> None:
    m = Member(talk, "m")
    m.beat()
    at = talk.coordinator("x", transactional=True)
    told = talk.ask(InitProducerId(transactional_id="x"), at)
    who = {
        "transactional_id": "x",
        "producer_id": told.producer_id,
        "producer_epoch": told.producer_epoch,
    }
    assert talk.ask(AddOffsetsToTxn(**who, group="g"), at).error is NONE
    assert m.commit(5, **who) is NONE
    assert m.commit(5, generation=0, **who) is ErrorCode.ILLEGAL_GENERATION


# ---------------------------------------------------------------- the log


def moved_to_another(talk: Conversation, member: Member) -> None:
    """The coordinator's broker begins anew; the member finds the coordinator again."""
    talk.restart(member.at)
    talk.pass_time(15_000)
    member.at = talk.coordinator("g", transactional=False)


def test_a_new_coordinator_goes_on_where_the_old_one_was(converse: Converse) -> None:
    talk = converse(brokers=3)
    talk.create("t", 2)
    m, n = Member(talk, "m"), Member(talk, "n", "one")
    m.beat()
    n.beat()
    m.beat()
    before, first = group_at(talk, m.at), m.at
    moved_to_another(talk, m)
    n.at = m.at
    assert m.at != first
    assert group_at(talk, m.at) == before
    assert (m.beat(), n.beat(), m.epoch, m.part, n.part) == (NONE, NONE, 2, [0], [1])


def test_no_answer_is_given_before_what_it_rests_on_is_replicated(converse: Converse) -> None:
    talk = converse(brokers=3)
    talk.create("t", 2)
    m = Member(talk, "m")
    m.beat()
    leader = m.at
    talk.held = lambda to, told: to == leader and getattr(told, "sender", 0) in {1, 2, 3} - {leader}
    n = talk.tell(Member(talk, "n").request(), leader)
    again = talk.tell(m.request(owned=None), leader)
    assert (talk.answers.get(n), talk.answers.get(again)) == (None, None)
    written = group_at(talk, leader)
    assert written is not None
    assert written.epoch == 2  # the coordinator goes on from there
    talk.held = lambda _to, _told: False
    talk.pass_time(31_000)  # the followers ask again
    joined, heard = talk.answers[n], talk.answers[again]
    assert isinstance(joined, ConsumerGroupHeartbeated)
    assert isinstance(heard, ConsumerGroupHeartbeated)
    assert joined.error in {NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert heard.error is joined.error


def test_an_append_that_is_refused_has_changed_nothing(converse: Converse) -> None:
    talk = converse(brokers=2)
    talk.create("t", 2)
    m = Member(talk, "m")
    m.beat()
    before = group_at(talk, m.at)
    n = Member(talk, "n")
    del talk.nodes[NodeId(3 - m.at)]
    talk.pass_time(12_000)  # one replica is in sync, and two are wanted
    assert n.beat() is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert group_at(talk, m.at) == before
    assert m.beat() is NONE  # nothing is to be written


words = st.tuples(
    st.sampled_from(["beat", "beat", "beat", "leave", "silence", "fail"]), st.sampled_from("mno")
)


@settings(max_examples=8, deadline=None)
@given(st.lists(words, min_size=4, max_size=14))
def test_whatever_happened_a_new_coordinator_knows_the_same(said: list[tuple[str, str]]) -> None:
    talk = Conversation(brokers=2)
    talk.create("t", 3)
    members = {name: Member(talk, name) for name in "mno"}
    for word, name in said:
        member = members[name]
        if word == "beat" and member.beat() is not NONE:
            member.epoch, member.owned = 0, ()
        elif word == "leave" and member.epoch:
            member.ask(member_epoch=-1)
            member.epoch, member.owned = 0, ()
        elif word == "silence":
            talk.pass_time(46_000)
        elif word == "fail":
            before, at = group_at(talk, member.at), member.at
            talk.restart(at)
            talk.pass_time(12_000)
            for other in members.values():
                other.at = talk.coordinator("g", transactional=False)
            assert group_at(talk, member.at) == before
    for _ in range(8):
        for member in members.values():
            if member.beat() is not NONE:
                member.epoch, member.owned = 0, ()
    assert described(members["m"]).state == "Stable"
    assert sorted(len(member.part) for member in members.values()) == [1, 1, 1]


# ---------------------------------------------------------------- beside the classic protocol


def test_a_group_is_of_one_protocol_while_it_has_members(talk: Conversation) -> None:
    m = Member(talk, "m")
    join = JoinGroup(group="g", protocols=(("range", b""),), needs_id_first=False)
    m.beat()
    assert talk.ask(join, m.at).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    heartbeat = HeartbeatGroup(group="g", generation=1, member_id="m")
    assert talk.ask(heartbeat, m.at).error is ErrorCode.UNKNOWN_MEMBER_ID
    m.ask(member_epoch=-1)
    number = talk.tell(join, m.at)
    talk.pass_time(4_000)
    joined: Any = talk.answers[number]
    m.epoch = 0
    assert (joined.error, m.beat()) == (NONE, ErrorCode.GROUP_ID_NOT_FOUND)
    assert described(m).error is ErrorCode.GROUP_ID_NOT_FOUND
    leave = LeaveGroup(group="g", members=((joined.member_id, None),))
    assert talk.ask(leave, m.at).error is NONE
    assert (m.beat(), m.part) == (NONE, [0, 1])
