"""`urteil replay FOLDER --on SYSTEM`: repeats saved test runs, and counts how many fail again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from checkers.cli.command import command
from checkers.cli.run import Run
from checkers.cli.system_options import broker_settings
from checkers.events import PropertyDecided
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.trials.replaying import KeptTrial
    from checkers.trials.trial import Trials
    from checkers.verdicts import Verdict

TIMES: Final = 3


@command()
def replay_trials(
    run: Run,
    file: Path,
    on: str | None,
    kafka_home: Path | None,
    broker_config: Sequence[str],
    times: int,
    **of_a_model_trace: object,
) -> None:
    """Repeats each of the test runs that are saved in the folder `file`, `times` times each.

    If `on` is None, each test run is repeated on the system on which it first ran. Raises
    InputFault for an option that is meant for traces of specs.
    """
    from checkers.systems.opening import CLUSTER, named
    from checkers.trials.layout import pace_for, started
    from checkers.trials.replaying import kept_trials
    from checkers.trials.trial import Trials
    from properties.suites.machines.driven import Power

    if given := [name for name, value in of_a_model_trace.items() if value]:
        options = {"name": "--property", "assignments": "--set"}
        option = options.get(given[0], f"--{given[0]}")
        raise InputFault(
            f"{option} applies to traces of specs, and {file} is a kept trial; leave out {option}"
        )
    kept = kept_trials(file)
    assert run.folder is not None
    for number, origin in enumerate(dict.fromkeys(one.origin for one in kept), 1):
        system_name = named(on or origin.system, kafka_home)
        settings = {**origin.settings, **broker_settings(broker_config)}
        here = [one for one in kept if one.origin == origin]
        traced = any(Power.INSIDE in one.suite.machine.SETTING_NEEDS.values() for one in here)
        folder = run.folder.path / (CLUSTER if number == 1 else f"{CLUSTER}-{number}")
        with started(
            system_name, folder, settings, proxied=origin.proxied, traced=traced
        ) as system:
            trials = Trials(system, pace_for(system_name))
            for one in here:
                run.emit(_again(run, trials, one, times))


def _again(run: Run, trials: Trials, kept: KeptTrial, times: int) -> PropertyDecided:
    from properties.claims.catalogue import BY_ID

    lacking = sorted(power.value for power in kept.needs - trials.powers)
    runs = [] if lacking else [*kept.again(trials, times)]
    shown = [how for ran in runs if (how := kept.shown_by(ran)) is not None]
    for number, ran in enumerate(runs, 1):
        found = kept.shown_by(ran) or ran.stuck or "nothing"
        run.note(f"{kept.folder.name}, run {number} of {times}, {ran.seconds:.0f} s: {found}")
    is_observed = any(ran.is_observed for ran in runs)
    if lacking:
        reason = f"this needs a system that can {' and '.join(lacking)}"
    elif not is_observed:
        reason = f"no run came to its end: {runs[0].stuck}"
    else:
        reason = f"shown in {len(shown)} of {times} runs" + (f": {shown[0]}" if shown else "")
    breaks: Verdict = "violated" if kept.claim in kept.suite.always else "holds"
    never: Verdict = "holds" if kept.claim in kept.suite.always else "undecided"
    return PropertyDecided(
        property=kept.claim,
        statement=BY_ID[kept.claim].statement,
        verdict="undecided" if not is_observed else breaks if shown else never,
        engine="trial",
        spec=kept.suite.name,
        variant=f"{kept.setting}, {trials.system.name}",
        system=trials.system.name,
        seconds=round(sum(ran.seconds for ran in runs), 1),
        reason=reason,
    )
