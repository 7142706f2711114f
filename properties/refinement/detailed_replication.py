"""The spec `replication` takes only steps that `replication-abstract` allows.

The *detailed spec*, `replication`, is close to Kafka's code. The *abstract spec*,
`replication-abstract`, is small enough to be proved. Its proof also covers the detailed spec,
because each detailed step is explained by abstract actions. The abstract state contains the log and
the ISR of every former leader, which the detailed state does not contain. So both specs are
explored together (`history_mapping`).

A detailed step may be several abstract steps. For example, a detailed leader reads the logs of its
followers. In the abstract spec, each follower fetches first, and then the leader acts.

The detailed spec begins without a leader, in epoch -1. The abstract spec begins in its first epoch
with a leader that has an empty log. So an abstract epoch is the detailed epoch plus one. No step of
the detailed spec is mapped to an action of the abstract initial leader.

Source: Abadi and Lamport, The Existence of Refinement Mappings (history variables).
Simplified: no replica restarts. A fetch and its response are one detailed step, so no fetch is
late.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from model.language.interpreter import State, Value
from model.replication.versions import FetchDivergence
from model.replication_abstract.versions import ReplicationProof
from properties.refinement.behaviour import Call, as_int
from properties.refinement.history_mapping import Difference, HistoryMapping, Transition


class Refinement(HistoryMapping[FetchDivergence]):
    """Maps a version of `replication` to the abstract spec, which must allow the version's
    steps.
    """

    @cached_property
    def abstract(self) -> ReplicationProof:
        """The abstract spec. It has one leader epoch more than the detailed spec, because it begins
        with a leader.
        """
        return ReplicationProof(
            replicas=self.detailed.replicas,
            leader_epochs=self.detailed.max_leader_epoch + 2,
            offsets=self.detailed.log_size + 1,
            messages=self.detailed.max_records,
        )

    @cached_property
    def _replicas(self) -> range:
        return range(self.detailed.replicas)

    # ---- the mapping

    def calls(self, step: Transition, abstract: State) -> list[Call]:
        """Returns the abstract actions that explain a step of the detailed spec, in their order."""
        before, after = step.before, step.after
        match step.action, step.arguments:
            case "controller_elect_leader", (leader,):
                return [Call("elect", (leader, _newest(after)))]
            case "controller_shrink_isr", (failed,):
                return self._failed(step, failed)
            case "become_leader" as name, (r, _):
                return [Call(name, (r, _epoch(after, r)))]
            case "become_follower" as name, (r, *_):
                return [Call(name, (r, _epoch(after, r)))]
            case "leader_write", (r,):
                return [Call("append", (r, as_int(before["next_id", ()]), _end(after, r)))]
            case "leader_inc_high_watermark", (r,):
                isr = (f for f in self._replicas if before["replica.isr", (r, f)])
                fetches = [_fetch_request(before, f) for f in isr if f != r]
                return [*fetches, Call("advance_high_watermark", (r, _high_watermark(after, r)))]
            case "leader_shrink_isr", (r, f):
                return [Call("shrink_isr", (f,)), Call("drop_member", (r, f))]
            case "leader_expand_isr", (r, f):
                joins = [Call("propose_member", (r, f)), Call("expand_isr", (f,))]
                return [_fetch_request(before, f), *joins]
            case "follower_replicate", (r, _):
                end, latest = _end(after, r), _latest(before, r)
                mark = Call("follower_high_watermark", (r, end - 1, _high_watermark(after, r)))
                return [Call("fetch_response", (r, latest, end)), mark]
            case "follower_truncate", (r, _):
                lowered = Call("restart", (r, _high_watermark(after, r)))
                return [Call("truncate", (r, _end(after, r))), lowered]
            case name, _:
                raise ValueError(f"{name} has no abstract step")

    def _failed(self, step: Transition, failed: int) -> list[Call]:
        """Returns the abstract actions for a failed replica: the replica leaves the ISR, and a new
        epoch begins.

        If the failed replica is the only member of the ISR, it stays in the ISR, and only the new
        epoch begins. In the abstract spec, no leader leaves the ISR. So if the new epoch has no
        leader, the epoch begins first, and then the replica leaves the ISR.
        """
        leader, newest = step.after["registration.leader", ()], _newest(step.after)
        leaves = (
            [] if step.after["registration.isr", (failed,)] else [Call("shrink_isr", (failed,))]
        )
        if leader is None:
            return [Call("elect_nobody", (newest,)), *leaves]
        return [*leaves, Call("elect", (leader, newest))]

    # ---- the comparison

    def compared(self, detailed: State, abstract: State) -> Iterator[Difference]:
        newest = as_int(abstract["newest", ()])
        yield "the leader epoch", _newest(detailed), newest
        if newest:
            is_vacant = abstract["vacant", (newest,)]
            leader = None if is_vacant else abstract["leader", (newest,)]
            yield "the leader", detailed["registration.leader", ()], leader
        isr = self._members(detailed, "registration.isr")
        yield "the ISR", isr, self._members(abstract, "isr", newest)
        for r in self._replicas:
            yield from self._of_replica(detailed, abstract, r)

    def _of_replica(self, detailed: State, abstract: State, r: int) -> Iterator[Difference]:
        epoch, end = _epoch(detailed, r), _end(detailed, r)
        yield f"the epoch of b{r}", epoch, abstract["replica.leader_epoch", (r,)]
        yield f"the log end of b{r}", end, abstract["replica.end_offset", (r,)]
        for o in range(end):
            written = as_int(detailed["log.record.leader_epoch", (r, o)]) + 1
            record = detailed["log.record.id", (r, o)], written
            yield f"record {o} of b{r}", record, _entry(abstract, r, o)
        mark = abstract["replica.high_watermark", (r,)]
        yield f"the high watermark of b{r}", _high_watermark(detailed, r), mark
        if epoch:
            leads = detailed["replica.leader", (r,)] == r
            yield f"whether b{r} leads", leads, abstract["replica.is_leader", (r,)]
            if leads:
                known = self._members(detailed, "replica.isr", r)
                awaited = self._members(abstract, "led.maximal_isr", epoch)
                yield f"the ISR that b{r} knows", known, awaited

    def _members(self, state: State, name: str, *keys: int) -> frozenset[int]:
        return frozenset(r for r in self._replicas if state[name, (*keys, r)])


def _newest(state: State) -> int:
    """Returns the newest leader epoch of the controller, as the abstract spec numbers it."""
    return as_int(state["registration.leader_epoch", ()]) + 1


def _epoch(state: State, r: int) -> int:
    """Returns the leader epoch of the replica, as the abstract spec numbers it."""
    return as_int(state["replica.leader_epoch", (r,)]) + 1


def _end(state: State, r: int) -> int:
    return as_int(state["log.end_offset", (r,)])


def _high_watermark(state: State, r: int) -> int:
    return as_int(state["replica.high_watermark", (r,)])


def _latest(state: State, r: int) -> int:
    """Returns the offset of the replica's last record, or 0 if the log is empty."""
    return max(_end(state, r) - 1, 0)


def _fetch_request(state: State, follower: int) -> Call:
    return Call("fetch_request", (follower, _latest(state, follower)))


def _entry(abstract: State, r: int, o: int) -> tuple[Value, Value]:
    entry = (abstract[f"replica.entry.{part}", (r, o)] for part in ("message", "leader_epoch"))
    message, leader_epoch = entry
    return message, leader_epoch
