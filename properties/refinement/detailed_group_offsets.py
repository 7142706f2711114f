"""The spec `group-offsets` takes only steps that `pipeline-abstract` allows.

The *detailed spec*, `group-offsets`, is close to Kafka's code. The *abstract spec*,
`pipeline-abstract`, is small enough to be proved. In `group-offsets`, the group coordinator has a
log and a cache. A new coordinator reads the log from its beginning. The coordinator commits or
aborts pending offsets in the order in which their markers are in the log. The abstract state
contains the owners in former generations, which the detailed state does not contain.

In the detailed spec, output records are committed when the transaction coordinator decides to
commit. So the detailed step that decides is mapped to two abstract steps: one decides, and one
writes the marker to the output. The detailed step that writes the marker is also mapped to two
abstract steps: one writes the marker at the group coordinator, and one ends the transaction.

Simplified: no offset is reset, expired or deleted, because the group would then process inputs a
second time. In `group-offsets`, each consumer has its own transactional id and is never fenced.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from model.group_offsets.state import Offset, TopicPartition
from model.group_offsets.versions import GroupOffsets
from model.language import action, false, when
from model.language.interpreter import State
from model.pipeline_abstract.versions import Pipeline
from properties.refinement.behaviour import Call, as_int
from properties.refinement.history_mapping import Difference, HistoryMapping, Transition


class WithoutResets(GroupOffsets):
    """A copy of the spec `group-offsets` in which no offset is reset, expires or is deleted."""

    @action
    def reset_offset(self, p: TopicPartition, to: Offset) -> None:
        """This action is never enabled, so the offset is never reset."""
        when(false)

    @action
    def expire_offset(self, p: TopicPartition) -> None:
        """This action is never enabled, so the offset never expires."""
        when(false)

    @action
    def delete_group(self) -> None:
        """This action is never enabled, so the group is never deleted."""
        when(false)


@dataclass
class Replayed:
    """The committed offset of each partition in the coordinator's log, and the pending offsets of
    each member by partition. A partition without a committed offset is missing.
    """

    committed: dict[int, int] = field(default_factory=dict[int, int])
    pending: defaultdict[int, dict[int, int]] = field(
        default_factory=lambda: defaultdict(dict[int, int])
    )


class Refinement(HistoryMapping[GroupOffsets]):
    @cached_property
    def abstract(self) -> Pipeline:
        return Pipeline(
            instances=self.detailed.members,
            transactional_ids=self.detailed.members,
            partitions=self.detailed.partitions,
            offsets=self.detailed.inputs + 1,
            generations=self.detailed.generations + 1,
        )

    @cached_property
    def _members(self) -> range:
        return range(self.detailed.members)

    @cached_property
    def _partitions(self) -> range:
        return range(self.detailed.partitions)

    # ---- the mapping

    def first_calls(self, state: State) -> list[Call]:
        """Returns the abstract actions that initialize the consumers' transactional ids."""
        return [Call("init_transactions", (m, m)) for m in self._members]

    def calls(self, step: Transition, abstract: State) -> list[Call]:
        generation = as_int(step.after["group.generation", ()])
        match step.action, step.arguments:
            case "complete_rebalance", _:
                owners = [(p, as_int(step.after["group.owner", (p,)])) for p in self._partitions]
                assigned = [Call("assign", (p, owner)) for p, owner in owners]
                return [Call("rebalance", (generation,)), *assigned]
            case "lose_all_members", ():
                return [Call("rebalance", (generation,))]
            case "learn_generation" as name, (m,):
                return [Call(name, (m,))]
            case "fetch_offset" as name, (m, p):
                return [Call(name, (m, p))]
            case "process" as name, (m, p):
                after = as_int(step.after["consumer.position", (m, p)])
                return [Call(name, (m, m, p, after))]
            case "commit_in_transaction", (m, p):
                return [Call("send_offset", (m, m, p))]
            case "end_commit", (m,):
                return [Call("commit", (m, m)), Call("write_output_marker", (m,))]
            case "end_abort", (m,):
                sent = any(step.before["consumer.sent", (m, p)] for p in self._partitions)
                ends = [] if sent else _ended(m)
                return [Call("abort", (m,)), Call("write_output_marker", (m,)), *ends]
            case "write_marker", (m,):
                return _ended(m)
            case (
                "begin_rebalance" | "commit" | "commit_too_much" | "fail_over" | "load",
                _,
            ):
                return []
            case name, _:
                raise ValueError(f"{name} has no abstract action")

    # ---- the comparison

    def compared(self, detailed: State, abstract: State) -> Iterator[Difference]:
        generation = as_int(detailed["group.generation", ()])
        yield "the generation", generation, abstract["generation", ()]
        log = self._replayed(detailed)
        for p in self._partitions:
            owner = abstract["owner", (generation, p)]
            yield f"the owner of p{p}", detailed["group.owner", (p,)], owner
            committed = log.committed.get(p, 0)
            yield f"the committed offset of p{p}", committed, abstract["committed_offset", (p,)]
            for o in range(self.detailed.inputs + 1):
                for ours, theirs in (("output", "received"), ("repeated", "repeated")):
                    yield f"{ours} {o} of p{p}", detailed[ours, (p, o)], abstract[theirs, (p, o)]
        for m in self._members:
            yield from self._of_member(detailed, abstract, log, m)

    def _of_member(
        self, detailed: State, abstract: State, log: Replayed, m: int
    ) -> Iterator[Difference]:
        generation = detailed["consumer.generation", (m,)]
        yield f"the generation of m{m}", generation, abstract["known_generation", (m,)]
        for p in self._partitions:
            for name in ("reads", "position"):
                ours = detailed[f"consumer.{name}", (m, p)]
                yield f"{name} of m{m} in p{p}", ours, abstract[name, (m, p)]
            for o in range(self.detailed.inputs + 1):
                written = detailed["consumer.written", (m, p, o)]
                yield f"effect {o} of m{m} in p{p}", written, abstract["written", (m, p, o)]
            offset = abstract["pending_offset", (m, p)] if abstract["pending", (m, p)] else None
            yield f"the pending offset of m{m} in p{p}", log.pending[m].get(p), offset
        ended, commits = detailed["consumer.ended", (m,)], detailed["consumer.committed", (m,)]
        decision = (abstract["committed", (m,)], abstract["aborted", (m,)])
        yield f"the decision of m{m}", (ended and commits, ended and not commits), decision

    def _replayed(self, detailed: State) -> Replayed:
        """Returns the committed offsets and the pending offsets that result from the records of the
        coordinator's log.

        The log must contain no tombstone (a record that deletes an offset).
        """
        read = Replayed()
        for at in range(as_int(detailed["end_offset", ()])):
            offset = detailed["log.offset", (at,)]
            partition = as_int(detailed["log.partition", (at,)])
            producer = as_int(detailed["log.producer", (at,)])
            if not detailed["log.in_transaction", (at,)]:
                read.committed[partition] = as_int(offset)
            elif offset is not None:
                read.pending[producer][partition] = as_int(offset)
            else:
                waiting = read.pending.pop(producer)
                if detailed["log.commits", (at,)]:
                    read.committed.update(waiting)
        return read


def _ended(m: int) -> list[Call]:
    return [Call("write_offset_marker", (m,)), Call("complete", (m,))]
