"""The base of all Hypothesis state machines of the suites. It checks claims when a run ends.

A machine has a setting (the configuration of a run), the seeded bugs of the broker, and a list of
names to check. Each line has an example of a name, and what the name refers to:

    retry_resumes                            a claim: every run must satisfy it
    isr_shrinks: the leader commits alone    a goal of the claim: at least one run must reach it
    zombie-write                             an anomaly of the recorded history

Hypothesis calls the rules of the machine. After the last rule, all faults end and the cluster
recovers. The machine then checks the names in order, and raises `Shown` at the first finding: a
broken claim, a found anomaly, or a reached goal. A reached goal is no error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol

from hypothesis.stateful import RuleBasedStateMachine

from properties.anomalies.catalogue import BY_ID as ANOMALIES
from properties.claims.breach import Always, Sometimes
from properties.suites.machines.driven import Power
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.simulation.trace import Traced
from reference_impl.simulation.world import NoProgress

PROGRESS: Final = "progress"  # the cluster recovers in bounded virtual time after all faults


class Shown(Exception):
    """Raised when a run breaks a claim, reaches a goal, or has an anomaly that the search looks
    for.

    `name` is the name of the claim, the goal or the anomaly. `how` describes the evidence.
    """

    def __init__(self, name: str, how: str) -> None:
        super().__init__(f"{name}: {how}")
        self.name = name
        self.how = how


@dataclass(slots=True)
class Tally:
    """The cost of a search so far: the number of runs, and the number of steps of brokers and
    controllers.

    If `progress` is not None, it is called after each run.
    """

    runs: int = 0  # including the runs of shrinking
    broker_steps: int = 0
    progress: Callable[[Tally], None] | None = None

    def add(self, broker_steps: int) -> None:
        self.runs += 1
        self.broker_steps += broker_steps
        if self.progress is not None:
            self.progress(self)


class Setting(Protocol):
    """The configuration of a run. Each suite adds fields, and `condition` describes the
    configuration in words.
    """

    @property
    def condition(self) -> str: ...


class JudgedMachine(RuleBasedStateMachine):
    """A Hypothesis state machine that checks claims when its run ends.

    A subclass defines rules and claims. A claim in `ALWAYS` must hold in every run. A claim in
    `SOMETIMES` states that something can happen, and has goals: observations that show it.
    """

    ALWAYS: ClassVar[Always]
    SOMETIMES: ClassVar[Sometimes]
    SETTINGS: ClassVar[Mapping[str, Setting]]
    SIMPLER: ClassVar[Mapping[str, tuple[int, ...]]]  # values of each rule argument, simplest first
    NEEDS: ClassVar[Mapping[str, Power]] = {}  # what a rule needs of the cluster; default: nothing
    TRIAL_RULES: ClassVar[
        Mapping[str, Callable[[Any], bool]]
    ] = {}  # only of trials: name, condition
    CLAIM_NEEDS: ClassVar[Mapping[str, Power]] = {}  # without it, a run says nothing about a claim
    SETTING_NEEDS: ClassVar[Mapping[str, Power]] = {}  # what every run in a setting needs
    TEARDOWN: ClassVar[str] = "ends all faults, waits for recovery and judges the run"

    def __init__(
        self,
        setting: str,
        *,
        bugs: Bugs = NO_BUGS,
        judge: Sequence[str] | None = None,
        tally: Tally | None = None,
    ) -> None:
        super().__init__()
        self.setting_name = setting
        self.bugs = bugs
        self.observed: Any = None  # the input of the claims; None until the run has ended
        self._judge = tuple(self.ALWAYS) if judge is None else judge
        self._tally = tally or Tally()

    def end(self) -> object:
        """Ends all faults, waits until the cluster has recovered, and returns the observations of
        the run.

        Raises NoProgress if the cluster or its clients do not recover.
        """
        raise NotImplementedError

    def events(self) -> tuple[Traced, ...]:
        """Returns all events of the run. The result is () if the cluster is not simulated."""
        return ()

    def steps(self) -> int:
        """Returns the number of steps that the brokers and the controller have taken."""
        raise NotImplementedError

    @property
    def now_ms(self) -> int:
        return 0

    def new_events(self) -> tuple[str, ...]:
        """Returns sentences on the events since the previous call of this method. A printed
        counterexample has them as comments.
        """
        return ()

    def stuck(self) -> str | None:
        """Returns the reason why the clients made no progress after the end of all faults, or
        None if they made progress.
        """
        return None

    def teardown(self) -> None:
        """Ends the run, and checks the claims, goals and anomalies that the search looks for.

        Raises `Shown` for the first broken claim, reached goal or found anomaly.
        """
        try:
            self.observed = self.end()
        except NoProgress as stuck:
            if self._judges_progress:
                raise Shown(PROGRESS, str(stuck)) from stuck
            return
        finally:
            self._tally.add(self.steps())
        for name in self._judge:
            if (how := self.shows(name)) is not None:
                raise Shown(name, how)
        if self._judges_progress and (why := self.stuck()) is not None:
            raise Shown(PROGRESS, why)

    @property
    def _judges_progress(self) -> bool:
        # If one claim or goal is searched, the seeded bugs may stop the clients first.
        return not (self.bugs and len(self._judge) == 1)

    def shows(self, name: str) -> str | None:
        """Returns evidence for the claim, goal or anomaly called `name`.

        The result is None if the run does not break the claim, does not reach the goal, or does not
        have the anomaly.
        """
        if name in self.ALWAYS:
            return next((breach.why for breach in self.ALWAYS[name](self.observed)), None)
        if name in ANOMALIES:
            rows = ANOMALIES[name].find(self.observed.history)
            return f"{len(rows)} in the history of the clients" if rows else None
        claim, _, goal = name.partition(": ")
        return goal if self.SOMETIMES[claim][goal](self.observed) else None
