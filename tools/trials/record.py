"""The record of trials (test runs): for each claim and each system, the verdict of the trials.

`record.json` has one verdict per line. `python -m tools.trials` writes this file, and builds
docs/trials.md from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from checkers.trials.deciding import Judged
from checkers.verdicts import Verdict
from properties.suites.suite import Side, Suite

KEPT: Final = Path(__file__).with_suffix(".json")
Place = Literal["inside", "outside"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The verdict of trials (test runs) on one claim, on one system and in one setting.

    - `side` is `inside` if the claim must hold in this setting, otherwise `outside`.
    - `again` states how many repetitions of the trial had the same result as the trial, such as
      `2 of 3 runs`. It is empty if the trial was not repeated.
    - `tried` has the kinds of faults that the trials could inject.
    - `untried` has the other kinds of faults that the suite can inject.
    """

    system: str
    suite: str
    claim: str
    side: Place
    setting: str
    verdict: Verdict
    expected: Verdict
    why: str
    trials: int
    seconds: float
    again: str = ""
    program: tuple[str, ...] = ()
    day: str = ""
    tried: tuple[str, ...] = ()
    untried: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()  # of brokers, beside those of the layout of trials
    finding: str = ""  # the page of docs/findings that explains an unexpected verdict

    @property
    def key(self) -> tuple[str, str, str, Place, str]:
        """The key of the verdict: system, suite, claim, `side` (`inside` or `outside` the claim's
        condition) and setting.
        """
        return self.system, self.suite, self.claim, self.side, self.setting


def place(suite: Suite, side: Side) -> Place:
    return "inside" if side in suite.inside else "outside"


def row(
    system: str, suite: Suite, judged: Judged, day: str, settings: tuple[str, ...] = ()
) -> Decided:
    calls = () if judged.evidence is None else judged.evidence.calls
    return Decided(
        system=system,
        suite=suite.name,
        claim=judged.side.claim,
        side=place(suite, judged.side),
        setting=judged.side.setting,
        verdict=judged.verdict,
        expected=judged.side.expected,
        why=judged.why,
        trials=judged.trials,
        seconds=judged.seconds,
        again="" if judged.again is None else str(judged.again),
        program=tuple(map(str, calls)),
        day=day,
        tried=judged.tried,
        untried=judged.untried,
        settings=settings,
    )


def kept() -> tuple[Decided, ...]:
    if not KEPT.exists() or not KEPT.stat().st_size:
        return ()
    rows: list[dict[str, Any]] = json.loads(KEPT.read_text(encoding="utf-8"))
    return tuple(Decided(**{name: _tupled(value) for name, value in row.items()}) for row in rows)


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def keep(rows: Iterable[Decided]) -> None:
    lines = ",\n".join(json.dumps(asdict(one)) for one in sorted(rows, key=lambda it: it.key))
    KEPT.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def merged(old: Iterable[Decided], new: Iterable[Decided]) -> tuple[Decided, ...]:
    """Returns the old verdicts together with the new ones. A new verdict replaces the old one with
    the same key.

    There are two exceptions. An undecided verdict does not replace a decided one. If both verdicts
    are `holds`, with the same faults and settings, and without a program, their numbers of trials
    are added.
    """
    found = {one.key: one for one in old}
    for one in new:
        before = found.get(one.key)
        found[one.key] = one if before is None else _merged(before, one)
    return tuple(found.values())


def _merged(old: Decided, new: Decided) -> Decided:
    if new.verdict == "undecided" and old.verdict != "undecided":
        return old
    if new.verdict == old.verdict == "violated":
        return replace(new, finding=old.finding)
    if (old.verdict, old.tried, old.settings) != (new.verdict, new.tried, new.settings):
        return new
    if new.verdict != "holds" or new.program or old.program:
        return new
    trials, seconds = old.trials + new.trials, round(old.seconds + new.seconds, 1)
    return replace(new, trials=trials, seconds=seconds)
