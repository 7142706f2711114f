"""The version `log-directories` of `election` takes only steps of `reassignment-abstract`.

The *detailed spec*, `election`, is close to Kafka's code. The *abstract spec*,
`reassignment-abstract`, is small enough to be proved. A broker whose log directory fails is still
up in the detailed spec. In the abstract spec, a failed directory is an unclean stop. The broker
returns when it registers without this directory. Before that, a detailed step of the broker is an
abstract step only if it changes the partition registration.

Simplified: the simplifications are those of `detailed_reassignment`. In addition, no replica is
added or removed.
"""

from __future__ import annotations

from collections.abc import Iterator

from model.election.log_directories import LogDirectories
from model.language.interpreter import State
from model.reassignment.versions import ElrOfReplicas
from properties.refinement.behaviour import Call, as_int
from properties.refinement.detailed_reassignment import Refinement
from properties.refinement.history_mapping import Difference, Transition


class ReplicasInDirectories(LogDirectories, ElrOfReplicas):
    """The spec `reassignment` with the rules of the version `log-directories` of `election`. It is
    explored with constants that allow no reassignment.
    """


class LogDirectoryRefinement(Refinement):
    def calls(self, step: Transition, abstract: State) -> list[Call]:
        match step.action, step.arguments:
            case "fail_directory", (r,):
                return [Call("stop_uncleanly", (r, as_int(abstract["last_disturbance", ()]) + 1))]
            case (("kill" | "apply_metadata"), (r,)) if abstract["broker.is_stopped", (r,)]:
                return []
            case _:
                return super().calls(step, abstract)

    def compared(self, detailed: State, abstract: State) -> Iterator[Difference]:
        view = dict(detailed)
        for r in self._brokers:
            if abstract["broker.is_stopped", (r,)]:
                view["broker.is_up", (r,)] = False
        return super().compared(view, abstract)
