"""Runs each trial (test run) one time, for all claims that are checked in the same configuration
of the cluster. The claims belong to one property suite: a set of claims with a state machine.

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
        """Returns the result of a trial (a test run). Runs the trial if it was not run before.

        `setting` is a configuration of the cluster. `plan` is a program (a list of calls), or a
        seed for random calls. The same plan can have different results, so it can be run several
        times, with the numbers 0, 1, 2 and so on.
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
        """Yields the results of all trials that `ran` has run so far in a setting (a configuration
        of the cluster).
        """
        yield from [ran for (where, _, _), ran in self._ran.items() if where == setting]

    def repeated(self, setting: str, trial: Trial, times: int) -> list[Ran]:
        """Returns the results of `times` repetitions of a trial (a test run). Results of earlier
        repetitions of the same trial are used again, and only the missing repetitions are run.
        """
        for number in range(times):
            if (setting, trial, number) not in self._repeated:
                (ran, *_) = self.trials.together(self.suite, setting, trial)
                self._repeated[setting, trial, number] = ran
        return [self._repeated[setting, trial, number] for number in range(times)]
