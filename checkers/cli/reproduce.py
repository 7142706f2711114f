"""`urteil reproduce`: makes real brokers break a promise of Apache Kafka."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from checkers.cli import completion
from checkers.cli.command import command
from checkers.cli.run import Run
from checkers.events import Listed, PropertyDecided
from checkers.verdicts import Verdict
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.reproduce.reproduction import Case, Reproduction
    from checkers.systems.apache_kafka.jars import Jars


@command(decides=False, folder=False)
def _list(run: Run, **_: object) -> None:
    from checkers.reproduce.catalogue import REPRODUCTIONS

    for one in REPRODUCTIONS.values():
        facts = {"of": f"apache-kafka:{one.shown_on}", "because": one.because}
        run.emit(Listed(kind="reproduction", item=one.name, statement=one.promise, facts=facts))


def _or_list(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def either(**options: Any) -> None:
        (_list if options["name"] is None else function)(**options)

    return either


@click.command("reproduce")
@click.argument("name", required=False, shell_complete=completion.reproductions)
@click.option(
    "--on",
    "system",
    show_default="the version on which the defect was shown",
    metavar="apache-kafka:VERSION",
    help="The version of Apache Kafka that has the defect, or the fixed one.",
)
@click.option(
    "--kafka-home",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="An unpacked release instead of a version that Maven downloads.",
)
@click.option(
    "--only",
    type=click.Choice(["case", "control"]),
    help="Run only the case that has the defect, or only its control.",
)
@_or_list
@command()
def reproduce_command(
    run: Run, name: str, system: str | None, kafka_home: Path | None, only: str | None
) -> None:
    """Show the broken promise NAME on real brokers, step by step; without NAME, list all.

    NAME has two cases. The first one shows the defect. The second one is a control experiment: it
    differs in one setting, version or step, and the brokers must keep the promise. In both cases, a
    check confirms each step. Clients record a history, and `urteil analyze` decides on it. Exit
    code 1 means that the promise is broken, as for every other command.

    \b
    urteil reproduce
    urteil reproduce hanging-transaction
    urteil reproduce duplicate-after-restart --on apache-kafka:4.2.0
    """
    from checkers.reproduce.catalogue import find

    reproduction = find(name)
    jars = _jars(system or _default(reproduction, kafka_home), kafka_home)
    for about, case in (("case", reproduction.case), ("control", reproduction.control)):
        if only in (None, about):
            _conduct(run, reproduction, about, case, jars)


def _default(reproduction: Reproduction, kafka_home: Path | None) -> str:
    from checkers.systems.opening import APACHE_KAFKA

    return APACHE_KAFKA if kafka_home is not None else f"{APACHE_KAFKA}:{reproduction.shown_on}"


def _jars(system: str, kafka_home: Path | None) -> Jars:
    from checkers.systems.apache_kafka import jars
    from checkers.systems.opening import KafkaSystem, named

    chosen = named(system, kafka_home)
    if not isinstance(chosen, KafkaSystem):
        raise InputFault(
            f"--on {system}: a schedule needs brokers that it can kill and reconfigure;"
            " use apache-kafka:VERSION"
        )
    return jars.download(chosen.version) if chosen.home is None else jars.installed(chosen.home)


def _conduct(run: Run, reproduction: Reproduction, about: str, case: Case, jars: Jars) -> None:
    from checkers.reproduce.conducting import Taken, conduct
    from checkers.reproduce.judging import verdict
    from checkers.systems.apache_kafka import jars as versions
    from checkers.systems.opening import CLUSTER

    if case.version is not None:
        jars = versions.download(case.version)
    assert run.folder is not None
    folder = run.folder.path / about
    run.note(f"{about}: apache-kafka:{jars.version}, {case.about}")
    run.progress("starting the cluster")

    def taken(step: Taken) -> None:
        run.progress(f"{about}, {step.at_s:.0f} s: {step.step.text}: {step.seen.text}")

    began = time.monotonic()
    steps = conduct(case, jars, folder, taken)
    log_dirs = [folder / CLUSTER / f"node-{n + 1}" / "logs" for n in range(case.layout.brokers)]
    found = verdict(reproduction, case, steps, folder, log_dirs)
    title = f"{reproduction.name}, {about}: {case.about}"
    lines = [title, *map(str, steps), "", found.evidence.rstrip()]
    run.keep(f"{reproduction.name}, {about}", "\n".join(lines), f"{about}.txt")
    expected: Verdict = (
        "holds" if about == "control" or not reproduction.has(jars.number) else "violated"
    )
    run.emit(
        PropertyDecided(
            property=f"{reproduction.name}, {about}",
            statement=reproduction.promise,
            verdict=found.verdict,
            expected=expected,
            engine=f"apache-kafka:{jars.version}",
            system=f"apache-kafka:{jars.version}",
            trace_length=len(steps),
            seconds=round(time.monotonic() - began, 1),
            reason=f"{case.about}; {found.reason}",
        )
    )
