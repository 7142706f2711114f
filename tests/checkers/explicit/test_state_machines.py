"""The state diagrams have exactly the transitions that an exploration of their spec finds.

A diagram shows the states of one kind of part, such as a replica. Each projection below takes a
state of a spec, and yields the diagram's state of every such part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest

from checkers.explicit.actions import Program
from checkers.explicit.exploration import Budget
from checkers.explicit.instance import Instance
from checkers.explicit.transitions import Transitions
from model.language.interpreter import State
from model.quorum.state import Role
from model.share_group.state import RecordState
from model.specs import SPECS, find
from model.state_machine import StateMachine, Step
from model.state_machines import STATE_MACHINES
from model.variants import Constants

SMALL = Budget(states=20_000)


@dataclass(frozen=True)
class Read:
    """Reads the variables of one record in a state, such as `replica[1]`, by their field names."""

    state: State
    prefix: str = ""
    keys: tuple[int, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return self.state[self.prefix + name, self.keys]


Projection = Callable[[State, Mapping[str, range]], Iterator[str]]


def named(**states: object) -> str:
    """Returns the first name whose condition is true."""
    return next(name for name, holds in states.items() if holds)


def replicas(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    decision = Read(state, "registration.")
    for r in ranges["Replica"]:
        own, in_isr = Read(state, "replica.", (r,)), state["registration.isr", (r,)]
        is_new = own["leader_epoch"] == decision["leader_epoch"] != -1
        leads = own["leader"] == r
        yield named(
            LEADER=leads and is_new,
            STALE_LEADER=leads,
            BEHIND=not is_new,
            IN_SYNC=in_isr,
            OUT_OF_SYNC=True,
        )


def registered_replicas(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    leader = state["partition_registration.leader", ()]
    for r in ranges["Replica"]:
        partition = Read(state, "partition_registration.", (r,))
        yield named(
            LEADER=leader == r,
            IN_SYNC=partition["isr"],
            ELIGIBLE=partition["elr"],
            LAST_KNOWN=partition["last_known"],
            OUT_OF_SYNC=True,
        )


def brokers(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    for r in ranges["Replica"]:
        is_up, fenced = state["broker.is_up", (r,)], state["registration.fenced", (r,)]
        yield named(ACTIVE=is_up and not fenced, FENCED=is_up, CRASHED=not fenced, STOPPED=True)


def assigned_brokers(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    for r in ranges["Replica"]:
        assignment, broker = Read(state, "assignment.", (r,)), Read(state, "broker.", (r,))
        yield named(
            ADDING=assignment["adding"],
            REMOVING=assignment["removing"],
            REPLICA=assignment["replicas"],
            REMOVED=broker["leader"] is not None or broker["end_offset"] > 0,
            NO_REPLICA=True,
        )


def committed_offset(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    counts = state["cache.committed.offset", (0,)] is not None
    pending = any(state["cache.pending.offset", (m, 0)] is not None for m in ranges["Member"])
    yield named(
        LOADING=state["cache.loaded", ()] != state["end_offset", ()],
        COMMITTED_AND_PENDING=counts and pending,
        COMMITTED=counts,
        PENDING=pending,
        NO_OFFSET=True,
    )


def consumers(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    for m in ranges["Member"]:
        own = Read(state, "consumer.", (m,))
        yield named(
            COMMITTING=own["ended"] and own["committed"],
            ABORTING=own["ended"],
            OFFSET_SENT=state["consumer.sent", (m, 0)],
            PROCESSED=any(state["consumer.written", (m, 0, x)] for x in ranges["Offset"]),
            READING=state["consumer.reads", (m, 0)],
            IDLE=True,
        )


def classic_group(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    yield named(
        PREPARING_REBALANCE=state["is_rebalancing", ()],
        EMPTY=not any(state["group.members", (m,)] for m in ranges["Member"]),
        STABLE=state["is_assigned", ()],
        COMPLETING_REBALANCE=True,
    )


def members(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    for m in ranges["Member"]:
        joined, reads = state["member.joined", (m,)], state["consumer.owns", (m, 0)]
        has = Read(state, "member.", (m, 0))
        revoking, assigned = has["revoking"] is not None, has["assigned"] is not None
        yield named(
            FENCED_OWNER=reads and not joined,
            NO_MEMBER=not joined,
            REVOKING=reads and revoking,
            REVOKED=revoking,
            OWNER=reads and assigned,
            ASSIGNED=assigned,
            MEMBER=not reads,
        )


def offsets_of_replicas(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    for r in ranges["Replica"]:
        log = Read(state, "log.", (r,))
        for offset in ranges["Offset"][:-1]:
            yield named(
                DELETED=offset < log["log_start"],
                ABSENT=offset >= log["end_offset"],
                COMPACTED=state["log.record.key", (r, offset)] is None,
                COMMITTED=offset < log["high_watermark"],
                UNCOMMITTED=True,
            )


def transactional_id(state: State, _: Mapping[str, range]) -> Iterator[str]:
    yield ("DEAD", "EMPTY", "ONGOING", "PREPARE", "COMPLETE")[state["metadata.state", ()] or 0]


def batches(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    for b in ranges["Batch"]:
        yield ("UNSENT", "IN_FLIGHT", "ACKED", "FAILED")[state["status", (b,)] or 0]


def leader_epochs(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    newest = state["newest", ()]
    for e in ranges["LeaderEpoch"]:
        leader = state["leader", (e,)]
        assert leader is not None
        own = Read(state, "replica.", (leader,))
        vacant, begun = state["vacant", (e,)], state["led.begun", (e,)]
        leads = not vacant and begun and own["is_leader"] and own["leader_epoch"] == e
        yield named(
            NOT_BEGUN=not state["elected", (e,)],
            VACANT=vacant and e == newest,
            ELECTED=not begun and e == newest,
            LEADING=leads and e == newest,
            STOPPED=e == newest,
            DEPOSED=leads,
            OVERTAKEN=not vacant and not begun and own["leader_epoch"] < e,
            OVER=True,
        )


def transactions(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    for x in ranges["Transaction"]:
        own = Read(state, "", (x,))
        decision = "COMMIT" if own["committed"] else "ABORT"
        is_decided = own["committed"] or own["aborted"]
        yield (
            named(NOT_BEGUN=not own["begun"], ONGOING=True)
            if not is_decided
            else f"{'COMPLETE' if own['complete'] else 'PREPARE'}_{decision}"
        )


def offsets_of_leader(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    log = Read(state)
    for offset in ranges["Offset"][:-1]:
        stamp = Read(state, "stamp.", (offset,))
        keys = (stamp["producer"], stamp["producer_epoch"], stamp["sequence"])
        yield named(
            EMPTY=offset >= log["end_offset"],
            APPENDED=offset >= log["high_watermark"],
            ACKNOWLEDGED=state["acked", keys],
            COMMITTED=True,
        )


def roles(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    for r in ranges["Replica"]:
        yield Role.labels[state["member.role", (r,)] or 0]


def voters(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    for r in ranges["Replica"]:
        own = Read(state, "replica.", (r,))
        epoch = own["epoch"]
        has_led, is_candidate = state["elected", (epoch, r)], state["voted", (epoch, r, r)]
        yield named(
            LEADER=own["is_leader"],
            RESIGNED=has_led,
            CANDIDATE=is_candidate and not state["led.begun", (epoch,)],
            FOLLOWER=state["led.begun", (epoch,)],
            UNATTACHED=True,
        )


def transactions_of_log(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    for x in ranges["Transaction"]:
        own = Read(state, keys=(x,))
        yield named(
            ABSENT=not own["written"],
            OPEN=not own["closed"],
            UNREPLICATED=own["marker_offset"] >= state["high_watermark", ()],
            STABLE=True,
        )


def members_of_partitions(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    for m in ranges["Member"]:
        for p in ranges["TopicPartition"]:
            own = Read(state, keys=(m, p))
            joined = state["joined", (m,)]
            yield named(
                FENCED_OWNER=own["owns"] and not joined,
                NO_MEMBER=not joined,
                REVOKING=own["owns"] and own["revoking"],
                REVOKED=own["revoking"],
                OWNER=own["owns"] and own["assigned"],
                ASSIGNED=own["assigned"],
                MEMBER=not own["owns"],
            )


def last_records(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    for i in ranges["TransactionalId"]:
        last = Read(state, "appended." if state["is_appending", (i,)] else "log.", (i,))
        outcome = "COMMIT" if last["commits"] else "ABORT"
        is_decided = last["is_prepared"] or last["is_complete"]
        yield (
            named(ONGOING=last["is_ongoing"], EMPTY=last["is_known"], DEAD=True)
            if not is_decided
            else f"{'COMPLETE' if last['is_complete'] else 'PREPARE'}_{outcome}"
        )


def eligible_replicas(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    newest = state["newest", ()]
    assert newest is not None
    for r in ranges["Replica"]:
        yield named(
            NO_REPLICA=not state["replicas", (r,)],
            ISR=state["isr", (newest, r)],
            ELR=state["elr", (newest, r)],
            OUT_OF_SYNC=True,
        )


def records(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    leader = Read(state)
    for x in ranges["Offset"][:-1]:
        own = Read(state, "record.", (x,))
        yield named(
            UNKNOWN=not leader["is_active"],
            WRITING=own["previous"] is not None,
            ACQUIRED=own["state"] == RecordState.labels.index("ACQUIRED"),
            PASSED=x < leader["start"],
            OTHER=True,
        ).replace("OTHER", RecordState.labels[own["state"]])


def inputs(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    for p in ranges["TopicPartition"]:
        for o in ranges["Offset"][:-1]:
            received = state["received", (p, o)]
            holding = [x for x in ranges["TransactionalId"] if state["written", (x, p, o)]]
            is_committed = received or any(state["committed", (x,)] for x in holding)
            committed_offset = state["committed_offset", (p,)]
            assert committed_offset is not None
            yield named(
                DONE=received and o < committed_offset,
                COMMITTED=is_committed,
                IN_TRANSACTION=any(not state["aborted", (x,)] for x in holding),
                ABORTED=bool(holding),
                UNPROCESSED=True,
            )


def shared_records(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    leader = Read(state)
    for x in ranges["Offset"]:
        own = Read(state, "record.", (x,))
        yield named(
            UNKNOWN=not leader["is_active"],
            WRITING=own["previous"] is not None,
            ACQUIRED=own["member"] is not None,
            PASSED=x < leader["start"],
            FINAL=own["is_final"],
            AVAILABLE=True,
        )


def members_of_isr(state: State, ranges: Mapping[str, range]) -> Iterator[str]:
    for r in ranges["Replica"]:
        yield named(
            LEADER=state["leader", ()] == r,
            ISR=state["isr", (r,)],
            ELR=state["elr", (r,)],
            OUT_OF_SYNC=True,
        )


PROJECTIONS: dict[str, tuple[Projection, ...]] = {
    "replication": (replicas,),
    "election": (registered_replicas, brokers),
    "reassignment": (assigned_brokers,),
    "group-offsets": (committed_offset, consumers),
    "classic-group": (classic_group,),
    "consumer-group": (members,),
    "share-group": (records,),
    "retention": (offsets_of_replicas,),
    "quorum": (roles,),
    "transactions": (transactional_id,),
    "idempotence": (batches,),
    "replication-abstract": (leader_epochs,),
    "transactions-abstract": (transactions,),
    "idempotence-abstract": (offsets_of_leader,),
    "quorum-abstract": (voters,),
    "read-committed-abstract": (transactions_of_log,),
    "consumer-group-abstract": (members_of_partitions,),
    "classic-group-abstract": (classic_group,),
    "coordinator-abstract": (last_records,),
    "reassignment-abstract": (eligible_replicas,),
    "pipeline-abstract": (inputs,),
    "share-group-abstract": (shared_records,),
    "retention-abstract": (members_of_isr,),
}


@pytest.mark.parametrize("spec", SPECS)
def test_a_state_diagram_has_exactly_the_transitions_of_the_spec(spec: str) -> None:
    for machine, projection in zip(STATE_MACHINES[spec], PROJECTIONS[spec], strict=True):
        assert set(machine.transitions()) == found_in(spec, machine, projection), machine.of


@pytest.mark.parametrize("wrong", [("LEADER", "leader_write", "BEHIND"), None])
def test_a_wrong_or_missing_transition_is_noticed(wrong: Step | None) -> None:
    (machine,) = STATE_MACHINES["replication"]
    steps = (*machine.steps, wrong) if wrong else machine.steps[1:]
    drawn = replace(machine, steps=steps)
    assert set(drawn.transitions()) != found_in("replication", drawn, replicas)


def found_in(spec: str, machine: StateMachine, projection: Projection) -> set[Step]:
    """Returns the transitions of a state machine (a diagram in the docs) that explorations of the
    spec find.

    The spec is explored once for each choice of constants in `machine.at`. For one state of the
    spec, `projection` yields the diagram's state of each object, for example of each replica.
    """
    return {step for constants in machine.at for step in _steps(spec, constants, projection)}


def _steps(spec: str, constants: Constants, projection: Projection) -> Iterator[Step]:
    graph = explored(spec, tuple(constants.items()))
    at = graph.program.at
    labels = [tuple(projection(at.unpack(state), at.ranges)) for state in graph.states]
    for source, label, target in zip(graph.source, graph.label, graph.target, strict=True):
        if labels[source] != labels[target]:
            action, _ = graph.program.labels[label]
            for old, new in zip(labels[source], labels[target], strict=True):
                if old != new:
                    yield old, action.name, new


@cache
def explored(spec: str, constants: tuple[tuple[str, int | bool], ...]) -> Transitions:
    made = find(spec).make(dict(constants))
    return Transitions.of(Program(Instance.of(made)), SMALL)
