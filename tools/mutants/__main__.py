"""Mutates the product one point at a time, and records which mutants the tests notice.

    python -m tools.mutants --seconds 900             # tries mutants that have no result yet
    python -m tools.mutants --part transactions       # only parts whose name contains this text
    python -m tools.mutants --part model/quorum       # only the part of this name
    python -m tools.mutants --file "model/election/*"  # only files that match the pattern
    python -m tools.mutants --again survived          # survivors for which no reason is recorded
    python -m tools.mutants --again crash             # those that crashed
    python -m tools.mutants --changed                 # all mutants of lines that differ from main
    python -m tools.mutants --changed --base v1       # of lines that differ from another commit
    python -m tools.mutants --both-ways               # tries mutants in forks and in new processes
    python -m tools.mutants --page                    # only writes the page

Each part of the product has a list of tests that judge its mutants (`parts`). The results are
written to benchmarks/results/mutants.json and to the page docs/mutants.md. With `--changed` and
`--both-ways`, nothing is recorded. The exit code is 1 if a mutant survives or crashes and no reason
is recorded, or if a mutant survives in only one of the two ways.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import platform
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Final, get_args

from model.faults import UnknownName
from tools.mutants.campaign import SEED, Job, is_new, is_open, jobs, mutants_in, outcomes
from tools.mutants.mutations import Mutant
from tools.mutants.page import PAGE, is_undefended, page
from tools.mutants.parts import BY_NAME, PARTS, Part
from tools.mutants.record import (
    KEPT,
    Tried,
    Versions,
    at_their_points,
    keep,
    kept,
    with_reasons_of,
)
from tools.mutants.trying import ROOT, Outcome

SAVED_EVERY_S: Final = 30.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=900.0, help="the budget")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--seed", type=int, default=SEED, help="draws the mutants")
    parser.add_argument("--of-each", type=int, help="at most so many mutants of each part")
    parser.add_argument(
        "--part", default="", help="the part of this name, or those whose name contains this text"
    )
    parser.add_argument("--file", default="*", help="only files whose path matches this pattern")
    parser.add_argument(
        "--again", choices=get_args(Outcome), help="only mutants with this result and no reason"
    )
    parser.add_argument("--changed", action="store_true", help="only lines that differ from main")
    parser.add_argument("--base", default="main", help="the commit that --changed compares with")
    parser.add_argument("--both-ways", action="store_true", help="compare forks with new imports")
    parser.add_argument("--record", type=Path, default=KEPT, help="the record, as JSON")
    parser.add_argument("--page", action="store_true", help="write only the page")
    options = parser.parse_args(arguments)
    parts = _chosen(options.part)
    paths = {mutant.file for part in parts for mutant in part.mutants(ROOT)}
    if not fnmatch.filter(paths, options.file):
        parser.error(f"--file: no file of {options.part or 'any part'} matches {options.file!r}")
    done = kept(options.record)
    if options.changed:
        return _try_changed(parts, done, options)
    if options.both_ways:
        return _try_both_ways([*_jobs(parts, lambda it: it.id in done, options)], options)
    if not options.page:
        wanted = is_open(dict(done), options.again) if options.again else is_new(dict(done))
        _run(parts, wanted, done, options)
    points = {part.name: mutants_in(part, options.seed) for part in PARTS}
    rows = [*at_their_points(done, chain.from_iterable(points.values()))]
    if options.record == KEPT:
        keep(_versions(options.seed), rows, KEPT)
        PAGE.write_text(page(rows, {part: len(some) for part, some in points.items()}), "utf-8")
    number = sum(row.outcome == "survived" for row in rows)
    sys.stdout.write(f"{len(rows):,} mutants, {number:,} survived\n")
    return _report(rows)


def _report(rows: Iterable[Tried]) -> int:
    """Prints each undefended mutant. Returns 1 if there is one, and 0 otherwise."""
    found = [row for row in rows if is_undefended(row)]
    for row in found:
        change = f"{row.before} -> {row.after}"
        sys.stdout.write(f"{row.file}:{row.line}: {change}: {row.outcome}, without a reason\n")
    return 1 if found else 0


def _chosen(name: str) -> tuple[Part, ...]:
    if name in BY_NAME:
        return (BY_NAME[name],)
    parts = tuple(part for part in PARTS if name in part.name)
    if not parts:
        raise UnknownName("part", name, [*BY_NAME])
    return parts


def _jobs(
    parts: Sequence[Part], wanted: Callable[[Mutant], bool], options: argparse.Namespace
) -> Iterator[Job]:
    return jobs(parts, options.seed, wanted, of_each=options.of_each, files=options.file)


def _run(
    parts: Sequence[Part],
    wanted: Callable[[Mutant], bool],
    done: dict[str, Tried],
    options: argparse.Namespace,
) -> None:
    versions = _versions(options.seed)
    saved = time.monotonic()
    todo = _jobs(parts, wanted, options)
    try:
        for row in outcomes(todo, until=saved + options.seconds, processes=options.jobs):
            done[row.id] = with_reasons_of(done.get(row.id), row)
            if time.monotonic() > saved + SAVED_EVERY_S:
                saved = time.monotonic()
                keep(versions, done.values(), options.record)
    finally:
        keep(versions, done.values(), options.record)


def _versions(seed: int) -> Versions:
    return Versions(
        seed=seed,
        python=platform.python_version(),
        pytest=version("pytest"),
        hypothesis=version("hypothesis"),
    )


def _try_changed(
    parts: Sequence[Part], done: Mapping[str, Tried], options: argparse.Namespace
) -> int:
    until = time.monotonic() + options.seconds
    lines = changed_lines(_git_diff(options.base))
    todo = [*_jobs(parts, lambda it: it.line in lines.get(it.file, set()), options)]
    tried = outcomes(iter(todo), until=until, processes=options.jobs)
    rows = [with_reasons_of(done.get(row.id), row) for row in tried]
    counts = Counter(row.outcome for row in rows)
    results = ", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items()))
    sys.stdout.write(f"{len(todo)} mutants of changed lines: {results or 'none tried'}\n")
    if left := len(todo) - counts.total():
        sys.stdout.write(f"{left} not tried: {options.seconds:.0f} s were not enough\n")
    return _report(rows)


def _try_both_ways(todo: Sequence[Job], options: argparse.Namespace) -> int:
    """Tries each mutant in a fork, and in a process that imports everything again. Prints the
    mutants whose outcomes differ.

    Returns 1 if a mutant survives in only one of the two ways, and 0 otherwise.
    """

    def tried(*, slowly: bool) -> dict[str, Tried]:
        until = time.monotonic() + options.seconds / 2
        rows = outcomes(iter(todo), until=until, processes=options.jobs, slowly=slowly)
        return {row.id: row for row in rows}

    quick, slow = tried(slowly=False), tried(slowly=True)
    pairs = [(row, slow[row.id]) for row in quick.values() if row.id in slow]
    differ = [(a, b) for a, b in pairs if a.outcome != b.outcome]
    for a, b in differ:
        sys.stdout.write(f"{a.file}:{a.line} {a.before}: {a.outcome}, slowly {b.outcome}\n")
    sys.stdout.write(f"{len(pairs)} mutants tried both ways: {len(differ)} outcomes differ\n")
    return 1 if any("survived" in (a.outcome, b.outcome) for a, b in differ) else 0


def _git_diff(base: str) -> str:
    command = ("git", "diff", "--unified=0", "--merge-base", base, "--", "*.py")
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def changed_lines(diff: str) -> dict[str, set[int]]:
    """Returns the numbers of the added or changed lines in each file of a diff."""
    lines: dict[str, set[int]] = {}
    file = ""
    for line in diff.splitlines():
        if line.startswith("+++ b/"):
            file = line.removeprefix("+++ b/")
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            lines.setdefault(file, set()).update(range(first, first + count))
    return lines


if __name__ == "__main__":
    sys.exit(main())
