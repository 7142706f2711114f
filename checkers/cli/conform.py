"""`urteil conform`: sends the same requests to a system and to the reference broker, and compares.

Each known difference is reported with its reason.
"""

from __future__ import annotations

import itertools
import shlex
import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from checkers.cli import completion
from checkers.cli.command import FILE, FOLDER, command
from checkers.cli.run import Run
from checkers.cli.system_options import RUNNING
from checkers.events import Evidence, Measured, PropertyDecided
from checkers.progress import Progress
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.conform.campaign import Compared
    from checkers.conform.reason import Reason
    from checkers.conform.recording import Recorder
    from checkers.conform.steps import Steps
    from checkers.conform.trial import Example, Found

STATEMENT: Final = (
    "Always: where the answers of the system and of the reference broker differ, the table of "
    "differences has a reason."
)
SHOWN: Final = 20  # kinds of unexplained differences; the reason says how many there are
TRAIL: Final = 12  # requests before a difference


@click.command("conform")
@click.option(
    "--on",
    metavar="SYSTEM",
    help=f"System to compare: {RUNNING}",
)
@click.option("--kafka-home", type=FOLDER, help="Unpacked release that --on apache-kafka runs.")
@click.option("--against", type=FILE, help="Compare with these recorded answers instead.")
@click.option("--record", type=FILE, help="Write the answers of the system to this file.")
@click.option(
    "--pairs",
    type=click.IntRange(1),
    default=1_000,
    show_default=True,
    help="Least number of pairs of responses to compare. A recording is always compared whole.",
)
@click.option(
    "--family",
    "families",
    multiple=True,
    shell_complete=completion.families,
    help="Only this family; repeatable.",
)
@click.option(
    "--sequence",
    "only",
    multiple=True,
    metavar="FAMILY:NUMBER",
    help="Only this sequence, as a difference names it; repeatable.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 32),
    default=4,
    show_default=True,
    help="Sequences that run at the same time.",
)
@command()
def conform_command(
    run: Run,
    on: str | None,
    kafka_home: Path | None,
    against: Path | None,
    record: Path | None,
    pairs: int,
    families: Sequence[str],
    only: Sequence[str],
    workers: int,
) -> None:
    """Send the same raw requests to a system and to the reference broker, and compare.

    \b
    urteil conform --on apache-kafka:4.3.0
    urteil conform --on 127.0.0.1:9092 --family appends --pairs 200
    urteil conform --against kafka.jsonl.gz

    The requests use the APIs and versions that both systems support. They use new topics, groups
    and transactional ids, and change nothing else on the system.
    """
    from checkers.conform import recording, trial
    from checkers.conform.peer_reasons import reasons_of

    if (on is None) == (against is None):
        raise InputFault("name either a system with --on, or a recording with --against")
    if against is not None:
        if record is not None or only or families:
            raise InputFault("--against compares a whole recording: leave out the other options")
        read = recording.read(against)
        rows = reasons_of(read.system)
        _decide(run, trial.with_recording(read, rows, workers=workers), rows)
        return
    assert on is not None
    with _opened(run, on, kafka_home) as (name, servers):
        recorder = None if record is None else recording.Recorder(record, name)
        rows = reasons_of(name)
        found = trial.with_system(
            name, servers, _sequences(run.seed, families, only), rows, workers=workers
        )
        _decide(run, found, rows, None if only else pairs, recorder)


@contextmanager
def _opened(run: Run, on: str, kafka_home: Path | None) -> Generator[tuple[str, str]]:
    from checkers.systems.opening import CLUSTER, named, opened

    chosen = named(on, kafka_home)
    with tempfile.TemporaryDirectory() as spare:
        base = Path(run.folder.path) if run.folder is not None else Path(spare)
        run.progress(f"starting {on}")
        with opened(chosen, base / CLUSTER) as system:
            yield system.name, system.bootstrap_servers


def _sequences(seed: int, families: Sequence[str], only: Sequence[str]) -> Iterator[Steps]:
    from checkers.conform.families import FAMILIES, sequence, sequences
    from model.faults import UnknownName

    for name in families:
        if name not in FAMILIES:
            raise UnknownName("family", name, FAMILIES)
    if not only:
        return sequences(seed, families or FAMILIES)
    parts = [text.rpartition(":") for text in only]
    for text, (name, _, number) in zip(only, parts, strict=True):
        if not name or not number.isdecimal():
            raise InputFault(f"--sequence {text}: write a family and a number, such as appends:12")
    return iter([sequence(name, int(number)) for name, _, number in parts])


def _decide(
    run: Run,
    sequences: Iterable[Compared],
    rows: Sequence[Reason],
    pairs: int | None = None,
    recorder: Recorder | None = None,
) -> None:
    from checkers.conform.trial import Found, answers_of_system

    found = Found()
    try:
        for count, compared in enumerate(sequences, 1):
            found.add(compared)
            if recorder is not None:
                recorder.add(answers_of_system(compared))
            done = found.compared.total()
            run.progress(Progress(stage="sequences", done=count, rows=done))
            if pairs is not None and done >= pairs:
                break
    finally:
        if recorder is not None:
            recorder.write()
        _report(run, found, rows)


def _report(run: Run, found: Found, rows: Sequence[Reason]) -> None:
    from checkers.conform.families import FAMILIES

    for shown in itertools.islice(found.unexplained.values(), SHOWN):
        family = shown.compared.sequence.family
        run.emit(Evidence(about=_property(family), text="\n".join(_lines(shown))))
    for name, shown in found.findings.items():
        sentence = next(row.sentence for row in rows if row.name == name)
        text = "\n".join((f"finding {name}: {sentence}", *_lines(shown)))
        run.emit(Evidence(about=_property(shown.compared.sequence.family), text=text))
    for family in found.sent:
        kinds = sum(one.compared.sequence.family == family for one in found.unexplained.values())
        why = f"{found.compared[family]:,} pairs compared"
        if kinds:
            why = f"{found.broken[family]:,} of {why} differ without a reason, {kinds} kinds"
        run.emit(
            PropertyDecided(
                property=_property(family),
                statement=STATEMENT,
                verdict="violated" if kinds else "holds",
                engine="conform",
                spec=FAMILIES[family].about,
                reason=why,
            )
        )
    run.emit(Measured(metric="pairs sent", value=found.sent.total()))
    run.emit(Measured(metric="pairs compared", value=found.compared.total()))
    for verdict, count in found.by_verdict(rows).items():
        run.emit(Measured(metric=f"pairs that differ: {verdict}", value=count))
    run.written("differences.tsv", "".join(_table(found, rows)))
    stale = found.stale(rows)
    if stale and set(found.sent) == set(FAMILIES):
        run.note(f"{len(stale)} rows of the table explained nothing: {', '.join(stale)}")


def _property(family: str) -> str:
    return f"conform-{family}"


def _table(found: Found, rows: Sequence[Reason]) -> Iterator[str]:
    yield "pairs\tverdict\treason\tsentence\n"
    for row in rows:
        yield f"{found.explained[row.name]}\t{row.verdict}\t{row.name}\t{row.sentence}\n"


def _lines(shown: Example) -> Iterator[str]:
    from checkers.conform.campaign import trail

    sequence = shown.compared.sequence
    yield str(shown.difference)
    yield f"  sequence {sequence.name}: each request, the answers of the system | of the reference"
    lines = trail(shown.compared, shown.pair)
    if len(lines) > TRAIL:
        yield f"    ... {len(lines) - TRAIL} requests before"
    yield from (f"    {line}" for line in lines[-TRAIL:])
    words = ["--sequence", f"{sequence.family}:{sequence.seed}"]
    yield f"  again: urteil conform --on SYSTEM {shlex.join(words)}"
