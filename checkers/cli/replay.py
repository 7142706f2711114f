"""`urteil replay`: repeats a trace of a spec, or a saved test run on a running system."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checkers.cli import selection
from checkers.cli.command import command
from checkers.cli.replay_trials import TIMES, replay_trials
from checkers.cli.run import Run
from checkers.cli.system_options import system_options
from checkers.events import Evidence, PropertyDecided
from model.faults import InputFault, UnknownName

if TYPE_CHECKING:
    from checkers.explicit.replay import Replayed
    from model.language.spec import Spec


def _or_trials(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def either(**options: Any) -> None:
        from checkers.trials.replaying import is_of_trial

        (replay_trials if is_of_trial(options["file"]) else function)(**options)

    return either


@click.command("replay")
@click.option(
    "--property", "name", help="Check this property instead of the one that the trace breaks."
)
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="Another constant; repeatable.",
)
@click.option("--variant", help="Use this variant instead of the one in the trace.")
@click.option(
    "--spec", help="Use this spec, a name or a .py file, instead of the one in the trace."
)
@system_options(
    None, "System to run a kept trial on. Default: where it was found. See: urteil test --help."
)
@click.option(
    "--times",
    type=click.IntRange(1),
    default=TIMES,
    show_default=True,
    help="How often to run a kept trial.",
)
@click.argument("file", metavar="PATH", type=click.Path(path_type=Path))
@_or_trials
@command(folder=False)
def replay_command(
    run: Run,
    file: Path,
    spec: str | None,
    variant: str | None,
    assignments: Sequence[str],
    name: str | None,
    on: str | None,
    **_of_trials: object,
) -> None:
    """Repeat PATH: a counterexample of a model, or a trial that `urteil test` saved.

    \b
    urteil replay runs/2026-11-21T0142-c3f1/replication-kip-101-strong_isr.itf.json
    urteil replay trace.itf.json --variant kip-320
    urteil replay runs/2026-11-23T0435-1cfb/log-order_is_per_partition --times 10
    urteil replay runs/2026-11-23T0435-1cfb --on apache-kafka:4.1.0

    A trace in ITF is repeated on its spec, to find out whether it still breaks the claim.

    PATH may be the folder of a trial (a test run), or a run folder with several trials. Each trial
    runs again on the system where it was found, or on the system of --on. The verdict has the
    number of runs that showed the violation again.
    """
    from checkers.explicit.replay import replay
    from checkers.report import itf
    from model.language.interpreter import Interpreter

    read = itf.read(file, "*.itf.json")
    meta: Mapping[str, Any] = read.get("#meta", {})
    if on is not None:
        raise InputFault(_on_real_brokers(file, on, meta))
    spec_name = spec or meta.get("spec")
    if spec_name is None:
        raise InputFault(f"{file}: the trace does not name its spec: name it with --spec")
    constants = {**meta.get("constants", {}), **selection.settings(assignments)}
    chosen, made = selection.selected(
        spec_name,
        variant or (meta.get("variant") if spec is None else None),
        [f"{n}={str(v).lower()}" for n, v in constants.items()],
    )
    claims = {claim.name: claim for claim in made.properties}
    wanted = name or meta.get("property")
    if wanted not in claims:
        raise UnknownName("property", str(wanted), claims, of=f"{chosen.spec} {chosen.name}")
    interpreter = Interpreter.of(made)
    steps = itf.recorded(made, interpreter.ranges, read)
    found = replay(made, interpreter, steps, claims[wanted], read.get("loop"))
    selection.note_releases(run, chosen)
    text = "\n".join(step_lines(made, interpreter, found, len(steps)))
    run.emit(Evidence(about=wanted, text=text))
    run.emit(
        PropertyDecided(
            property=wanted,
            statement=selection.statement(made, wanted),
            verdict="holds" if found.broken is None else "violated",
            engine="replay",
            spec=chosen.spec,
            variant=chosen.name,
            in_force=selection.in_force(chosen),
            constants=selection.constants(made),
            trace_length=found.broken,
            reason=None if found.broken is not None else f"along this trace: {ending(found)}",
        )
    )


def _on_real_brokers(file: Path, on: str, meta: Mapping[str, Any]) -> str:
    """Returns the error text for the option `--on` with a trace of a spec. Real brokers cannot
    replay a trace of a spec.

    If there is a reproduction of the bug on real brokers, the text has the command that runs it.
    """
    from checkers.reproduce.catalogue import REPRODUCTIONS

    found = [
        one.name
        for one in REPRODUCTIONS.values()
        for instance in one.model
        if (instance.spec, instance.variant) == (meta.get("spec"), meta.get("variant"))
    ]
    move = f"urteil reproduce {found[0]} --on {on}" if found else "`urteil reproduce` lists those"
    why = f"{file}: a trace of a model has no schedule for real brokers"
    return f"{why}; this bug has one: {move}" if found else f"{why}: {move} that have one"


def step_lines(spec: Spec, interpreter: Any, found: Replayed, steps: int) -> Iterator[str]:
    """Yields a line for each replayed step, and then a line that states where and why the replay
    ended.
    """
    from checkers.report.sentences import Sentences
    from model.language.values import Writer

    writer = Writer(spec, interpreter.ranges)
    for k, step in enumerate(found.taken):
        call = "init" if k == 0 else "stuttering"
        if step.action is not None:
            call = writer.call(step.action, step.values)
        mark = "✗" if k == found.broken else "~" if step.differs else "✓"
        differs = ", ".join(
            writer.place(name, [str(x) for x in keys]) for name, keys in step.differs
        )
        yield f"  {mark} {k:4}  {call}{f'  (differs: {differs})' if differs else ''}"
    if found.guard is not None and found.action is not None:
        bindings = dict(zip(found.action.params, found.values, strict=True))
        sentence = Sentences(writer, found.taken[-1].state, bindings, found.action.names).sentence
        yield f"  ! {len(found.taken):4}  {writer.call(found.action, found.values)} is not allowed:"
        yield f"          line {found.guard.line}: {sentence(found.guard.formula)}  is false"
    elif found.stopped:
        yield f"  ! {len(found.taken):4}  {found.stopped}"
    left = steps - len(found.taken)
    yield f"  {ending(found)}{f'; {left} steps not reached' if left else ''}"


def ending(found: Replayed) -> str:
    if found.broken is not None:
        return f"still a counterexample, after step {found.broken}"
    if found.stopped:
        return f"step {len(found.taken)} is not possible: {found.stopped}"
    return "every step is taken, and the property holds"
