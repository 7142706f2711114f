"""Runs suites of other projects against `urteil broker`, and writes docs/others-suites.md.

    python -m tools.others_suites                               the suites of franz-go
    python -m tools.others_suites --checkout FOLDER             confluent-kafka's tests, too
    python -m tools.others_suites --suite kgo --test TestIssue523
    python -m tools.others_suites --page                        only the page, from the results

The results are written to benchmarks/results/others.json, and replace earlier results of the same
suite. With --test, only the results of the named tests are replaced. The exit code is 1 if a test
failed without an entry in reasons.py, and 2 if a suite cannot be fetched or built.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from model.faults import InputFault
from tools.others_suites.confluent import run_confluent, version_in
from tools.others_suites.go_suites import FRANZ_GO, KFAKE_VERSION, run_kfake, run_kgo, version_of
from tools.others_suites.page import PAGE, page
from tools.others_suites.reasons import reason
from tools.others_suites.results import Result, SuiteResults, kept, save

SUITES = ("confluent-kafka", "kgo", "kfake")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", action="append", choices=SUITES, help="a suite; repeatable")
    parser.add_argument("--test", action="append", help="a test; repeatable")
    parser.add_argument(
        "--checkout", type=Path, help="folder of a checkout of confluent-kafka-python"
    )
    parser.add_argument("--page", action="store_true", help="write only the page")
    options = parser.parse_args()
    try:
        is_green = options.page or run(options)
    except InputFault as fault:
        say(str(fault))
        sys.exit(2)
    PAGE.write_text(page(kept()), encoding="utf-8")
    sys.exit(0 if is_green else 1)


def run(options: argparse.Namespace) -> bool:
    """Runs the selected suites, and saves their results. Returns True if each failed test has an
    entry in reasons.py.

    The suite of confluent-kafka needs `--checkout`. Without this option, the suite is left out. If
    the command line names the suite, InputFault is raised instead.
    """
    is_green = True
    for suite in options.suite or [one for one in SUITES if one != SUITES[0] or options.checkout]:
        version, results = started(suite, options)
        found = SuiteResults(suite=suite, version=version, tests=())
        if options.test:
            same = [one for one in kept() if (one.suite, one.version) == (suite, version)]
            found = same[0] if same else found
        for one in results:
            found = found.with_results([one])
            save(found)
            say(f"{suite:16} {one.test:64} {one.outcome:8} {one.seconds:6.1f} s  {one.note}")
            if one.outcome == "failed":
                is_green = is_green and reason(suite, one.test) is not None
    return is_green


def started(suite: str, options: argparse.Namespace) -> tuple[str, Iterator[Result]]:
    """Returns the version of a suite, and an iterator that runs its tests and yields their
    results.
    """
    only = options.test or []
    if suite == "kgo":
        return f"franz-go {version_of(FRANZ_GO)}", run_kgo(only)
    if suite == "kfake":
        return f"{KFAKE_VERSION}, franz-go {version_of(FRANZ_GO)}", run_kfake(only)
    if options.checkout is None:
        raise InputFault("confluent-kafka needs --checkout: a clone of confluent-kafka-python")
    return version_in(options.checkout), run_confluent(options.checkout.resolve(), only)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
