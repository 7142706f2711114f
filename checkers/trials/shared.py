"""Runs each trial (test run) once, for all claims that a suite checks in the same configuration.

A trial takes half a minute on a real cluster, and one trial often breaks several claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from checkers.trials.known import Program
from checkers.trials.trial import Ran, Trials
from properties.suites.suite import Suite

Trial = tuple[Program, ...]  # the calls of a trial, then those of the trials at the same time
Plan = Program | str  # calls to replay, or a seed to draw them from


@dataclass(slots=True)
class SharedTrials:
    trials: Trials
    suite: Suite
    rules: int
    _ran: dict[tuple[str, Plan, int], Ran] = field(default_factory=dict[tuple[str, Plan, int], Ran])
    _repeated: dict[tuple[str, Trial, int], Ran] = field(
        default_factory=dict[tuple[str, Trial, int], Ran]
    )

    def ran(self, setting: str, plan: Plan, number: int = 0) -> Ran:
        """Returns the result of a trial (a test run); runs it if it has not been run before.

        A setting is a configuration of the cluster; a plan is a program (a list of calls), or a
        seed for random calls. The result may vary, so one plan can be run as the trials 0, 1, 2 and
        so on.
        """
        key = setting, plan, number
        if key not in self._ran:
            self._ran[key] = (
                self.trials.draw(self.suite, setting, plan, self.rules)
                if isinstance(plan, str)
                else self.trials.replay(self.suite, setting, plan)
            )
        return self._ran[key]

    def earlier(self, setting: str) -> Iterator[Ran]:
        """Yields the results so far in the setting, without the repetitions by `repeated`."""
        yield from [ran for (where, _, _), ran in self._ran.items() if where == setting]

    def repeated(self, setting: str, trial: Trial, times: int) -> list[Ran]:
        """Returns the results of several repetitions; runs only those that are not stored yet."""
        for number in range(times):
            if (setting, trial, number) not in self._repeated:
                (ran, *_) = self.trials.together(self.suite, setting, trial)
                self._repeated[setting, trial, number] = ran
        return [self._repeated[setting, trial, number] for number in range(times)]
