"""The spec `reassignment` takes only steps that `reassignment-abstract` allows.

The *detailed spec*, `reassignment`, is close to Kafka's code. The *abstract spec*,
`reassignment-abstract`, is small enough to be proved. The detailed spec has more detail than the
abstract spec in three ways: each change of the partition by the controller elects a leader, a
leader's requests are in flight, and brokers stop and return. For every former leader epoch, the
abstract state contains the ISR, the ELR and the leader. The detailed state does not contain them.

A detailed step may be several abstract steps. For example, a fenced broker leaves the ISR, and the
next leader is elected. In the detailed spec, a broker loses records when it stops. In the abstract
spec, a broker loses these records when it has registered again.

Simplified: a log has one record. No last known leader is elected: such an election needs at least
min.insync.replicas unclean stops, and the explored instances allow fewer unclean stops. A partition
never has fewer replicas than min.insync.replicas.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from model.language.interpreter import State
from model.language.scope import ranges_of
from model.reassignment.versions import ElrOfReplicas
from model.reassignment_abstract.proof import PartitionLemmas
from model.reassignment_abstract.versions import ElrOfReplicas as AbstractPartition
from properties.refinement.behaviour import Call, as_int
from properties.refinement.history_mapping import Difference, HistoryMapping, Transition


class Refinement(HistoryMapping[ElrOfReplicas]):
    @cached_property
    def abstract(self) -> PartitionLemmas:
        return AbstractPartition(**self.constants())

    def constants(self) -> dict[str, int]:
        """Returns the constants of the abstract spec."""
        detailed = self.detailed
        faults = detailed.max_unclean + detailed.max_losses
        return {
            "brokers": max(detailed.replicas, detailed.assigned + 1),  # one begins as no replica
            "leader_epochs": ranges_of(detailed.scope())["LeaderEpoch"].stop,
            "records": detailed.max_records,
            "min_isr": detailed.min_isr,
            "disturbances": 2 * detailed.max_reassignments + faults,
        }

    @cached_property
    def _brokers(self) -> range:
        return range(self.detailed.replicas)

    @cached_property
    def _records(self) -> range:
        return range(self.detailed.max_records)

    # ---- the mapping

    def calls(  # noqa: C901 - one case for each action
        self, step: Transition, abstract: State
    ) -> list[Call]:
        before, after = step.before, step.after
        number = as_int(abstract["last_disturbance", ()]) + 1
        match step.action, step.arguments:
            case "write", (leader,):
                return [Call("append", (leader, as_int(before["next_id", ()])))]
            case "advance_high_watermark", (leader,):
                at = as_int(before["broker.high_watermark", (leader,)])
                return [Call("commit", (leader, as_int(before["broker.record", (leader, at)])))]
            case "fetch", (follower, leader):
                copied = log_of(after, follower) - log_of(before, follower)
                return [
                    self._fetched(step, leader, follower),
                    *(Call("copy", (follower, x)) for x in sorted(copied)),
                ]
            case "take_late_fetch", (leader, follower):
                return [self._fetched(step, leader, follower)]
            case "truncate_to_shared", (follower, _):
                lost = log_of(before, follower) - log_of(after, follower)
                return [Call("truncate", (follower, x)) for x in sorted(lost)]
            case "apply_metadata", (r,):
                return self._applied(step, abstract, r)
            case "delete_replica" as name, (r,):
                return [Call(name, (r,))]
            case "shrink_isr", _:
                return []
            case "refuse_isr", (leader,):
                epoch = as_int(before["broker.leader_epoch", (leader,)])
                known, awaited = (
                    self._set(abstract, f"led.{name}", epoch) for name in ("isr", "maximal_isr")
                )
                return [Call("refuse_member", (f,)) for f in sorted(awaited - known)]
            case (("kill" | "lose_power"), (r, *_)):
                return [Call("stop_uncleanly", (r, number))]
            case "replace_disk", (r,):
                is_stopped = abstract["broker.is_stopped", (r,)]
                return [] if is_stopped else [Call("stop_uncleanly", (r, number))]
            case "register", (r,):
                return [*self._registered(step, abstract, r), *self._changed(step)]
            case "add_replicas", (a, b):
                added = [
                    Call("add_replica", (new, number + i)) for i, new in enumerate(sorted({a, b}))
                ]
                return [*added, *self._changed(step)]
            case "remove_replica" as name, (r,):
                return [Call(name, (r, number)), *self._changed(step)]
            case "replace_replica" as name, (old, new):
                return [Call(name, (old, new, number)), *self._changed(step)]
            case "cancel_reassignment", _ if not self._members(before, "assignment.adding"):
                return [Call("cancel_removal"), *self._changed(step)]
            case _:
                return self._changed(step)

    def _fetched(self, step: Transition, leader: int, follower: int) -> Call:
        """Returns the abstract action for a fetch.

        It is `propose_member` if the leader begins to change the ISR in this step, and
        `acknowledge` otherwise.
        """
        proposes = all(
            (
                not step.before["broker.is_pending", (leader,)],
                step.after["broker.is_pending", (leader,)],
                step.before["broker.is_current", (leader,)],
            )
        )
        return Call("propose_member" if proposes else "acknowledge", (follower,))

    def _applied(self, step: Transition, abstract: State, r: int) -> list[Call]:
        epoch = as_int(step.before["partition_registration.leader_epoch", ()])
        leads = step.before["partition_registration.leader", ()] == r
        if as_int(abstract["broker.leader_epoch", (r,)]) < epoch:
            return [Call("become_leader" if leads else "become_follower", (r, epoch))]
        return [Call("learn_isr", (r,))] if leads else []

    def _registered(self, step: Transition, abstract: State, r: int) -> list[Call]:
        if not abstract["broker.is_stopped", (r,)]:
            return []
        had = {x for x in self._records if abstract["broker.log", (r, x)]}
        lost = had - log_of(step.after, r)
        return [
            Call("register", (r,)),
            *(Call("lose", (r, x)) for x in sorted(lost)),
            Call("start", (r,)),
        ]

    def _changed(self, step: Transition) -> list[Call]:
        """Returns the abstract actions for a step that changes the partition registration."""
        was, now = (self._members(s, "partition_registration.isr") for s in step[2:])
        elr = self._members(step.before, "partition_registration.elr")
        adding, still = (self._members(s, "assignment.adding") for s in step[2:])
        asked, replicas = (self._members(s, "assignment.replicas") for s in step[2:])
        before, epoch = (as_int(s["partition_registration.leader_epoch", ()]) for s in step[2:])
        leader = step.after["partition_registration.leader", ()]
        if asked - replicas:
            assert leader is not None
            if step.action == "cancel_reassignment":
                return [Call("cancel_reassignment", (leader, epoch))]
            added = next(iter(sorted(now - was)), leader)
            return [Call("complete_reassignment", (added, leader, epoch))]
        elected = self._elected(leader, epoch, was, elr) if before < epoch else []
        out = [] if elected and elected[0].action == "elect_eligible" else sorted(was - now)
        joined = [] if elected else sorted(now - was)
        finished = [Call("finish_adding")] if adding and not still else []
        return [
            *elected,
            *(Call("shrink_isr", (r,)) for r in out),
            *(Call("expand_isr", (r,)) for r in joined),
            *finished,
        ]

    def _elected(
        self, leader: int | None, epoch: int, isr: frozenset[int], elr: frozenset[int]
    ) -> list[Call]:
        if leader is None:
            return [Call("elect_nobody", (epoch,))]
        if leader in isr:
            return [Call("elect", (leader, epoch))]
        return [Call("elect_eligible", (leader, epoch))]

    # ---- the comparison

    def compared(self, detailed: State, abstract: State) -> Iterator[Difference]:
        newest = as_int(abstract["newest", ()])
        yield "the leader epoch", detailed["partition_registration.leader_epoch", ()], newest
        is_vacant = abstract["vacant", (newest,)]
        leader = None if is_vacant else abstract["leader", (newest,)]
        yield "the leader", detailed["partition_registration.leader", ()], leader
        for name in ("isr", "elr"):
            ours = self._members(detailed, f"partition_registration.{name}")
            yield f"the {name.upper()}", ours, self._set(abstract, name, newest)
        for name in ("replicas", "adding", "removing"):
            yield name, self._members(detailed, f"assignment.{name}"), self._set(abstract, name)
        committed = frozenset(x for x in self._records if detailed["committed", (x,)])
        theirs = (self._set(abstract, "led.committed", e) for e in range(newest + 1))
        yield "the committed records", committed, frozenset[int]().union(*theirs)
        for r in self._brokers:
            if not abstract["broker.is_stopped", (r,)]:
                log = self._set(abstract, "broker.log", r)
                yield f"the log of b{r}", log_of(detailed, r), log
            if detailed["broker.is_up", (r,)] and detailed["broker.leader", (r,)] is not None:
                epoch = as_int(detailed["broker.leader_epoch", (r,)])
                known = abstract["broker.leader_epoch", (r,)]
                yield f"the leader epoch of b{r}", epoch, known
                if detailed["broker.leader", (r,)] == r:
                    yield f"whether b{r} leads", True, abstract["broker.is_leader", (r,)]
                    yield from self._known_by(detailed, abstract, r, epoch)

    def _known_by(
        self, detailed: State, abstract: State, r: int, epoch: int
    ) -> Iterator[Difference]:
        """Yields triples on what leader `r` knows about its ISR and its followers: what is
        compared, its value in the detailed state, and its value in the abstract state.
        """
        known = self._set(abstract, "led.isr", epoch)
        isr = self._members(detailed, "broker.isr", r)
        yield f"the ISR that b{r} knows", isr, known
        if detailed["broker.is_current", (r,)]:
            awaited = self._set(abstract, "led.maximal_isr", epoch)
            proposed = self._members(detailed, "broker.proposed", r)
            maximal = isr | (proposed if detailed["broker.is_pending", (r,)] else frozenset())
            yield f"the maximal ISR of b{r}", maximal, awaited
        for f in self._brokers:
            if f != r:
                end = as_int(detailed["broker.follower.end_offset", (r, f)])
                fetched = frozenset(as_int(detailed["broker.record", (r, o)]) for o in range(end))
                acknowledged = self._set(abstract, "led.acknowledged", epoch, f)
                yield f"what b{f} has acknowledged to b{r}", fetched, acknowledged

    def _members(self, state: State, name: str, *keys: int) -> frozenset[int]:
        return frozenset(r for r in self._brokers if state[name, (*keys, r)])

    def _set(self, state: State, name: str, *keys: int) -> frozenset[int]:
        return frozenset(
            x
            for x in range(max(self.detailed.replicas, self.detailed.max_records))
            if state.get((name, (*keys, x)))
        )


def log_of(state: State, r: int) -> frozenset[int]:
    """Returns the records in the log of broker `r` in a detailed state."""
    ends = range(as_int(state["broker.end_offset", (r,)]))
    return frozenset(as_int(state["broker.record", (r, o)]) for o in ends)
