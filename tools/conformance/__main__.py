"""Writes the record of conformance: the differences between the responses of systems and of the
reference broker.

`python -m tools.conformance --on kfake [--pairs 2000] [--seed 0]` compares the responses of a
system with the responses of the reference broker. The result replaces the row of the system in
`tools/conformance/record.json`. With `--against FILE`, no system needs to run: the program compares
responses that were recorded before. The program also writes the page docs/conformance.md from the
record. With `--page`, it writes only this page.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from checkers.conform import recording, trial
from checkers.conform.campaign import Compared
from checkers.conform.families import FAMILIES, sequences
from checkers.conform.left_out import LEFT_OUT
from checkers.conform.peer_reasons import reasons_of
from checkers.conform.reason import Verdict
from checkers.conform.trial import Found
from checkers.systems.opening import named, opened
from tools.conformance.record import Outcome, keep, kept, outcome

PAGE: Final = Path(__file__).parents[2] / "docs" / "conformance.md"
TOP: Final = """<!-- Written by tools/conformance from its record: do not edit. -->
# Conformance, by system

`urteil conform --on SYSTEM` sends the same raw requests to a system and to the reference broker,
and compares the answers field by field. A pair is one request with both answers. After some
differences the two systems are in different states, and the rest of the sequence is not compared.

Each difference has a reason with a verdict: *ours to fix*, *permitted*, or *theirs*. The reference
broker stands for Apache Kafka 4.3 in the comparison of the other systems, so what is *theirs* there
differs from both. A reason whose name begins with `other-` covers what no other row explains.

"""
HEAD: Final = (
    "| System | Seed | Pairs sent | Compared | Alike | Permitted | Theirs | Ours | No reason |"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", help="the system, as of urteil conform --on")
    parser.add_argument("--against", type=Path, help="compare these recorded answers")
    parser.add_argument("--pairs", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--family", action="append", choices=tuple(FAMILIES))
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    day = datetime.now(UTC).date().isoformat()
    if not options.page and options.against is not None:
        read = recording.read(options.against)
        rows = reasons_of(read.system)
        found = counted(trial.with_recording(read, rows, workers=options.workers), None)
        keep((*kept(), outcome(read.system, options.seed, found, rows, day)))
    elif not options.page:
        families = options.family or FAMILIES
        with tempfile.TemporaryDirectory() as folder:
            name = named(options.on)
            with opened(name, Path(folder) / "system") as system:
                rows = reasons_of(system.name)
                drawn = sequences(options.seed, families)
                compared = trial.with_system(
                    system.name, system.bootstrap_servers, drawn, rows, workers=options.workers
                )
                found = counted(compared, options.pairs)
        keep((*kept(), outcome(system.name, options.seed, found, rows, day)))
    PAGE.write_text(page(kept()), encoding="utf-8")


def counted(sequences: Iterable[Compared], pairs: int | None) -> Found:
    """Counts the compared pairs: a pair is one request with the responses of both systems.

    It counts the pairs that were sent, the pairs that were compared, the pairs without a
    difference, and, for each known reason, the pairs that it explains. The requests are sent in
    sequences. The comparison ends with the sequence that brings the number of compared pairs to
    `pairs`. If `pairs` is None, all sequences are compared.
    """
    found = Found()
    for compared in sequences:
        found.add(compared)
        if pairs is not None and found.compared.total() >= pairs:
            break
    return found


def page(rows: Sequence[Outcome]) -> str:
    """Returns the page: a table with a row for each system, and then the differences of each system
    by reason.
    """
    return TOP + "\n".join(_lines(rows)).rstrip() + "\n"


def _lines(rows: Sequence[Outcome]) -> Iterator[str]:
    yield HEAD
    yield "|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        permitted, theirs, ours = (
            _pairs(row, verdict) for verdict in (Verdict.PERMITTED, Verdict.THEIRS, Verdict.OURS)
        )
        yield (
            f"| {row.system} | {row.seed} | {row.sent:,} | {row.compared:,} | {row.alike:,} |"
            f" {permitted:,} | {theirs:,} | {ours:,} | {row.unexplained:,} |"
        )
    yield ""
    yield "A pair may differ in several fields, so a pair may count in more than one column."
    for row in rows:
        yield from _system(row)


def _pairs(row: Outcome, verdict: Verdict) -> int:
    return sum(one.pairs for one in row.reasons if one.verdict == verdict)


def _system(row: Outcome) -> Iterator[str]:
    yield from ("", f"## {row.system}", "", f"Compared on {row.day}, from the seed {row.seed}.")
    if row.families:
        yield from ("", f"Only these families of requests were sent: {', '.join(row.families)}.")
    for verdict in (Verdict.THEIRS, Verdict.OURS, Verdict.PERMITTED):
        ours = [one for one in row.reasons if one.verdict == verdict]
        if not ours:
            continue
        yield from ("", f"### {str(verdict).capitalize()}", "")
        yield "| Reason | Pairs | What differs | For example |"
        yield "|---|---|---|---|"
        for one in ours:
            yield f"| {one.name} | {one.pairs:,} | {one.sentence} | {_escaped(one.example)} |"
    unsent = [one for one in LEFT_OUT if one.system == row.system]
    if unsent:
        yield from ("", "### Not sent", "", "| Request | Why |", "|---|---|")
        yield from (f"| {one.api.name} ({one.notes}) | {one.sentence} |" for one in unsent)


def _escaped(text: str) -> str:
    return "`" + text.replace("|", "\\|").replace("`", "'") + "`"


if __name__ == "__main__":
    main()
