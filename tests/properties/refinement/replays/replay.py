"""A replay carries out the actions of a model's counterexample on the reference broker.

A `Replay` has five parts:

- the origin of the counterexample: its spec, variant (the spec with a seeded bug) and claim;
- the bug of the broker;
- a function that builds the *harness*: the part of the reference broker on which the replay runs;
- for each action of the spec, a function that carries the action out on the harness;
- a function that reads the state of the spec from the harness.

After the last action, the spec's claim is evaluated on the broker's state. The claim must be false
on a broker with the same bug, and true on a broker without the bug. This result shows that a broker
can have the model's bug, and that the model's fix also fixes the broker.

In the following example (`elections`), replica 0 of the spec is broker 1, and replica 1 is broker
2. The left side has the actions of the counterexample, and the right side their effects on the
controller:

    election, variant elects-the-dead            the controller of the reference broker
    -----------------------------------          ------------------------------------------------
    init                                   -->   registers brokers 1 and 2, elects broker 1
    kill(0)                                -->   nothing: the controller cannot know yet
    expire_session(1)                      -->   no heartbeat of broker 2 for a session: fences it
    detect_crash(0)                        -->   no heartbeat of broker 1: nobody leads, ELR {1}
    register(0)                            -->   broker 1 registers after an unclean stop
                                                          |
                                                          |  cells(harness)
                                                          v
    leader_is_alive_and_in_isr       evaluated on   partition_registration.leader = 0,
                                                    registration.fenced[0] = true, ...

    with Bug.DEAD_LEADER_RETURNS     false: the controller elects the fenced broker, as in the model
    without the bug                  true

Actions that the broker performs by itself are not carried out (`Replay.by_itself`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from model.language.interpreter import Cell, Interpreter, Value
from model.language.spec import Spec
from model.vocabulary import BrokerEpoch, BrokerId
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.context import Context
from reference_impl.node.settings import KAFKA_SETTINGS

HarnessT = TypeVar("HarnessT")
Action = tuple[str, tuple[Any, ...]]  # the name of an action of the spec, and its arguments
Effect = Callable[..., None]  # takes the harness, and the arguments of the action


class Defect(NamedTuple):
    """The bugs that were put into a broker, and whether the broker allows unclean elections."""

    bugs: Bugs = NO_BUGS
    unclean_election: bool = False


SOUND: Final = Defect()
COORDINATOR: Final = Context(  # of a group coordinator that runs without a cluster
    now_ms=0,
    broker_id=BrokerId(1),
    broker_epoch=BrokerEpoch(1),
    brokers={},
    correlation=0,
    broker_settings=KAFKA_SETTINGS,
    bugs=NO_BUGS,
)


def with_bug(bug: Bug) -> Defect:
    return Defect(bugs=frozenset({bug}))


class Reading(NamedTuple):
    """The part of a spec's state that a claim needs, as it was read from the reference broker."""

    spec: Spec
    cells: Mapping[Cell, Value]
    sorts: Mapping[str, range] | None = None  # default: the scope of the spec


@dataclass(frozen=True, kw_only=True)  # without slots: `Replay[...](...)` sets an attribute
class Replay(Generic[HarnessT]):
    """A counterexample of a spec's variant, and how to replay it on the reference broker.

    `effects` maps an action of the spec to a function that carries the action out on the harness.
    An action may also have a tuple of functions. Then the first occurrence of the action calls the
    first function, and the second occurrence calls the second function. Occurrences after the end
    of the tuple call no function. The broker performs the actions in `by_itself` without a call.
    """

    spec: str
    variant: str
    claim: str
    defect: Defect
    start: Callable[[Defect], HarnessT]
    effects: Mapping[str, Effect | tuple[Effect, ...]]
    by_itself: frozenset[str] = frozenset({"init"})
    settle: Callable[[HarnessT], None] | None = None  # after the last action
    read: Callable[[HarnessT], Reading]

    def run(self, actions: Iterable[Action], *, defective: bool) -> HarnessT:
        """Carries out the actions on a new harness, and returns the harness.

        If `defective` is True, the broker of the harness has this replay's bug. Raises KeyError for
        an action that is neither in `effects` nor in `by_itself`.
        """
        harness = self.start(self.defect if defective else SOUND)
        times: Counter[str] = Counter()
        for action, arguments in actions:
            if action in self.by_itself and action not in self.effects:
                continue
            effects = self.effects[action]
            if isinstance(effects, tuple):
                for effect in effects[times[action] : times[action] + 1]:
                    effect(harness)
            else:
                effects(harness, *arguments)
            times[action] += 1
        if self.settle is not None:
            self.settle(harness)
        return harness

    def holds(self, harness: HarnessT) -> bool:
        """Returns True if the spec's claim is true in the current state of the harness (the part of
        the reference broker on which the replay runs).
        """
        spec, cells, sorts = self.read(harness)
        formulas = {c.name: c.formula for c in (*spec.claims, *spec.action_properties)}
        formulas |= {c.name: c.goal for c in spec.liveness_properties}
        interpreter = (
            Interpreter.of(spec) if sorts is None else Interpreter({"Bool": range(2), **sorts})
        )
        return interpreter.holds(formulas[self.claim], cells)

    def holds_after(self, actions: Iterable[Action], *, defective: bool) -> bool:
        """Carries out `actions` on a new harness, and returns True if the spec's claim is true in
        the state after the last action.

        The harness has the bug of the broker if `defective` is True.
        """
        return self.holds(self.run(actions, defective=defective))
