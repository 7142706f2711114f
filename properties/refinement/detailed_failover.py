"""The version `controller-failover` of `election` takes only steps of `reassignment-abstract`.

The *detailed spec*, `election`, is close to Kafka's code. The *abstract spec*,
`reassignment-abstract`, is small enough to be proved. A change that the controller makes is an
abstract step when the change is committed, because a failover may drop the change before its
commit. So the abstract partition is the committed partition of the detailed state. One commit may
contain several changes, and the abstract spec may skip the leader epochs between these changes. In
the abstract spec, a broker starts in the step that commits the broker's registration.

Simplified: the simplifications are those of `detailed_reassignment`. In addition, no replica is
added or removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from model.election.failover import ControllerFailover
from model.language.interpreter import State
from model.reassignment.versions import ElrOfReplicas
from properties.refinement.behaviour import Call, as_int
from properties.refinement.detailed_reassignment import Refinement
from properties.refinement.history_mapping import Difference, Transition


class ReplicasWithFailover(ControllerFailover, ElrOfReplicas):
    """The spec `reassignment` with the rules of the version `controller-failover` of `election`. It
    is explored with constants that allow no reassignment.
    """


COMMITTED: Final = "committed_partition"
NEWEST: Final = "partition_registration"


def committed(state: State) -> State:
    """Returns the state with one change: the controller's newest registration of the partition is
    replaced by the newest committed registration.
    """
    view = dict(state)
    for (name, keys), value in state.items():
        whole, dot, part = name.partition(".")
        if whole == COMMITTED:
            view[f"{NEWEST}{dot}{part}", keys] = value
    return view


class FailoverRefinement(Refinement):
    def calls(self, step: Transition, abstract: State) -> list[Call]:
        seen = step._replace(before=committed(step.before), after=committed(step.after))
        if step.action == "register":
            return []
        if step.action != "commit_changes":
            return super().calls(seen, abstract)
        started = [
            r
            for r in self._brokers
            if step.after["broker.is_up", (r,)] and not step.before["broker.is_up", (r,)]
        ]
        registered = [call for r in started for call in self._registered(seen, abstract, r)]
        members = self._members(seen.before, f"{NEWEST}.isr")
        if members & {*started}:  # the same commit fences these brokers, before they register
            return [*self._changed(seen), *registered]
        return [*registered, *self._changed(seen)]

    def _changed(self, step: Transition) -> list[Call]:
        """Returns the abstract actions for a commit of the controller.

        First, the brokers that the old leader proposed join the ISR. Then a leader is elected, if
        the commit has another leader. Finally, brokers leave the ISR. Brokers that join the ELR are
        the last to leave the ISR.
        """
        was, now = (self._members(s, f"{NEWEST}.isr") for s in step[2:])
        elr, eligible = (self._members(s, f"{NEWEST}.elr") for s in step[2:])
        before, epoch = (as_int(s[f"{NEWEST}.leader_epoch", ()]) for s in step[2:])
        joined = (now | eligible) - (was | elr)
        if was & now:  # so nobody was elected from the ELR
            joined |= now - was
        leader = step.after[f"{NEWEST}.leader", ()]
        if before == epoch or (leader is not None and not joined):
            return super()._changed(step)
        out = sorted((was | joined) - now, key=lambda r: r in eligible)
        return [
            *(Call("expand_isr", (r,)) for r in sorted(joined)),
            Call("elect_nobody", (epoch,)) if leader is None else Call("elect", (leader, epoch)),
            *(Call("shrink_isr", (r,)) for r in out),
        ]

    def compared(self, detailed: State, abstract: State) -> Iterator[Difference]:
        return super().compared(committed(detailed), abstract)
