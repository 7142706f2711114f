"""`urteil test --on SYSTEM`: decides claims of suites by trials (test runs) on a running system."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from checkers.cli.run import Run
from checkers.events import Measured, PropertyDecided

if TYPE_CHECKING:
    from checkers.systems.system import Settings, System
    from checkers.trials.deciding import Judged
    from properties.suites.suite import Side, Suite

TOGETHER: Final = 4  # trials at the same time: to start a cluster takes longer than a trial


def decide_on(
    run: Run,
    suites: Sequence[Suite],
    on: str,
    *,
    kafka_home: Path | None,
    settings: Settings,
    proxied: bool,
    outside: bool,
    runs: int | None,
) -> None:
    """Decides each claim of the suites by trials (test runs) on a running system, and emits the
    verdicts.

    Raises InputFault if no broker answers, and SystemFailed if the system does not start.
    """
    from checkers.systems.opening import CLUSTER, KafkaSystem, named
    from checkers.trials.deciding import Effort, decide
    from checkers.trials.layout import pace_for, started
    from checkers.trials.trial import Trials
    from properties.suites.machines.driven import Power

    name = named(on, kafka_home)
    together = TOGETHER if isinstance(name, KafkaSystem) else 1
    effort = Effort(together=together) if runs is None else Effort(together=together, drawn=runs)
    traced = any(Power.INSIDE in suite.machine.SETTING_NEEDS.values() for suite in suites)
    assert run.folder is not None
    folder = run.folder.path
    with started(name, folder / CLUSTER, settings, proxied=proxied, traced=traced) as system:
        trials = Trials(system, pace_for(name))
        for suite in suites:
            for judged in decide(
                trials,
                suite,
                _sides(suite, outside=outside),
                seed=run.seed,
                effort=effort,
                progress=run.progress,
            ):
                emit(run, suite, system, judged, settings)
        run.emit(Measured(metric=f"{system.name}: trials", value=trials.number))


def _sides(suite: Suite, *, outside: bool) -> tuple[Side, ...]:
    return tuple(side for side in suite.outside if not side.bugs) if outside else suite.inside


def emit(run: Run, suite: Suite, system: System, judged: Judged, settings: Settings) -> None:
    from checkers.trials import evidence
    from properties.claims.catalogue import BY_ID

    assert run.folder is not None
    side, reason = judged.side, judged.reason
    kept = evidence.kept(run.folder.path, suite, judged, system, settings)
    evidence.keep_last(run.folder.path, suite, judged)
    if kept is not None and judged.evidence is not None and judged.verdict == "violated":
        title = f"✗ {side.claim}  {judged.verdict}  ({suite.name}, {side.setting}, {system.name})"
        program = evidence.program(suite, judged.evidence)
        text = f"{title}\n  {reason}\n\n{program}\n\nfaults and history: {kept.name}/"
        text += f"\n\nreplay  {shlex.join(['urteil', 'replay', str(kept)])}"
        file = f"{suite.name}-{side.claim}.txt"
        run.keep(side.claim, text, file, verdict_expected=side.expected == "violated")
    run.emit(
        PropertyDecided(
            property=side.claim,
            statement=BY_ID[side.claim].statement,
            verdict=judged.verdict,
            expected=side.expected,
            engine="trial",
            spec=suite.name,
            variant=f"{side.setting}, {system.name}",
            system=system.name,
            seconds=judged.seconds,
            reason=reason,
        )
    )
