"""What the machines of all suites have in common: a run is driven by rules, ended, and judged.

A machine is made of a setting (the condition under which its run stands), of seeded bugs, and of
the names that its run is judged by: claims that hold always, goals as `claim: goal`, and anomalies
of the history, where the run has one. Its rules are the suite's own. When no more rule comes, the
faults end, the world gets on, and what was observed is judged; `Shown` is raised by the first name
that the run shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from hypothesis.stateful import RuleBasedStateMachine

from properties.anomalies.catalogue import BY_ID as ANOMALIES
from properties.claims.breach import Always, Sometimes
from properties.suites.searching import Shown, Tally
from reference_impl.node.bugs import NO_BUGS, Bugs
from reference_impl.simulation.world import NoProgress

PROGRESS: Final = "progress"  # after all faults the cluster recovers in bounded virtual time


class JudgedMachine(RuleBasedStateMachine):
    """A machine whose run is judged at its end; a suite's machine has the tables and the rules."""

    ALWAYS: ClassVar[Always]
    SOMETIMES: ClassVar[Sometimes]
    SIMPLER: ClassVar[Mapping[str, tuple[int, ...]]]  # the rules' arguments, the simplest first

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
        self.observed: Any = None  # what the tables judge, once the run has ended
        self._judge = tuple(self.ALWAYS) if judge is None else judge
        self._tally = tally or Tally()

    def end(self) -> object:
        """The faults end, the world gets on, and this was observed; raises NoProgress."""
        raise NotImplementedError

    def steps(self) -> int:
        """How many steps of brokers the run took."""
        raise NotImplementedError

    def stuck(self) -> str | None:
        """Why a run that came to its end is no progress; None: it is."""
        return None

    def teardown(self) -> None:
        """The run ends, and is judged; raises Shown."""
        try:
            self.observed = self.end()
        except NoProgress as stuck:
            if self._minds_progress:
                raise Shown(PROGRESS, str(stuck)) from stuck
            return
        finally:
            self._tally.add(self.steps())
        for name in self._judge:
            if (how := self.shows(name)) is not None:
                raise Shown(name, how)
        if self._minds_progress and (why := self.stuck()) is not None:
            raise Shown(PROGRESS, why)

    @property
    def _minds_progress(self) -> bool:
        """Who wants one claim broken by a bug goes on searching where the bug stops everything."""
        return not (self.bugs and len(self._judge) == 1)

    def shows(self, name: str) -> str | None:
        """How the run, which has ended, shows what the name says; None: it does not."""
        if name in self.ALWAYS:
            return next((breach.why for breach in self.ALWAYS[name](self.observed)), None)
        if name in ANOMALIES:
            rows = ANOMALIES[name].find(self.observed.history)
            return f"{len(rows)} in what clients observed" if rows else None
        claim, _, goal = name.partition(": ")
        return goal if self.SOMETIMES[claim][goal](self.observed) else None
