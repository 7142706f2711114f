"""Builds the recorders for Java and Go, and judges the histories that they record.

    python -m tools.recorders                   both: on a correct broker, and on one with each bug
    python -m tools.recorders --only java
    python -m tools.recorders --samples         also keep a short history of each, for a test

A recorder is a library that writes the history of a service's Kafka clients. In this trial, the
service has one producer and one consumer on the reference broker. The exit code is 1 if a history
breaks the format or has other anomalies than expected, and 2 if a recorder cannot be built.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from checkers.histories.analysis import analyze
from checkers.histories.io.checking import check
from checkers.histories.io.reading import whole
from checkers.testing.broker import Broker
from model.faults import InputFault
from properties.anomalies.declarations import Declarations
from tools.clients.installed import Command, built

ROOT: Final = Path(__file__).parents[1]
SOURCES: Final = ROOT / "recorders"
SAMPLES: Final = ROOT / "tests" / "data" / "recorders"
TOPIC: Final = "orders"
PARTITIONS: Final = 2
RECORDS: Final = 100
SUBSCRIBED: Final = Declarations(sub_via=frozenset({"subscribe"}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A run of a service that consumes and produces, and the anomalies that its history must have.

    `bug` is a seeded bug of the broker, or None for a correct broker. If `aborts` is True, the
    service aborts a transaction.
    """

    bug: str | None
    aborts: bool = False
    anomalies: frozenset[str] = frozenset()


CASES: Final = (
    Case(bug=None),
    Case(bug=None, aborts=True),
    Case(bug="lost-append", anomalies=frozenset({"lost-write"})),
    Case(
        bug="reordered-ack-offset",
        anomalies=frozenset({"offset-order-inversion", "inconsistent-offsets"}),
    ),
    # A recorder does not see the end of a transaction, so the analysis must accept that the records
    # of the transaction are read. There is no false positive, and this bug is not found.
    Case(bug="aborted-not-listed", aborts=True),
)
OF_SAMPLES: Final = CASES[2]
COMMITTING: Final = frozenset({"java"})  # recorders that see commits of offsets


def java() -> Command:
    maven = ("mvn", "-q", "-B", "package", "dependency:copy-dependencies")
    folder = built(SOURCES / "java", (*maven, "-DoutputDirectory=jars"))
    places = (folder / "target" / "classes", folder / "target" / "test-classes", folder / "jars/*")
    return ("java", "-cp", ":".join(map(str, places)), "urteil.recorder.Trial")


def go() -> Command:
    return (str(built(SOURCES / "go", ("go", "build", "-o", "bin/", "./trial")) / "bin" / "trial"),)


RECORDERS: Final[dict[str, Callable[[], Command]]] = {"java": java, "go": go}


def record(service: Command, case: Case, folder: Path) -> None:
    """Runs the command `service`. It starts a service that writes its history to `folder`. Raises
    InputFault if the service fails.
    """
    options = ("--bug", case.bug) if case.bug else ()
    with Broker(brokers=1, topics={TOPIC: PARTITIONS}, options=options) as broker:
        words = (broker.bootstrap_servers, TOPIC, str(PARTITIONS), str(RECORDS), str(folder))
        ended = subprocess.run(
            [*service, *words, *(["aborted"] if case.aborts else [])],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    if ended.returncode:
        raise InputFault(f"{service[0]} ended with {ended.returncode}: {ended.stderr[-2000:]}")


def faults(history: Path, case: Case) -> list[str]:
    """Returns each reason why the history differs from the expectations of `case`.

    The list is empty if the history is as expected.
    """
    broken_rows = check(history).broken
    if broken_rows:
        return list(broken_rows)
    decided = analyze(history, declared=SUBSCRIBED)
    found = [f"broken assumption {broken.assumption.id}" for broken in decided.broken]
    violated = {one.anomaly.id for one in decided.decisions if one.verdict == "violated"}
    found += [f"{name} was not found" for name in sorted(case.anomalies - violated)]
    if not case.anomalies:
        found += [f"{name} was found" for name in sorted(violated)]
    return found


def uncommitted(history: Path) -> list[str]:
    """Returns each reason why the history lacks commits of offsets.

    The trial's consumer commits the position after its last poll of each partition.
    """
    rows = whole(history).select(["kind", "key", "offset"]).to_pylist()
    found: list[str] = []
    for key in (f"{TOPIC}-{number}" for number in range(PARTITIONS)):
        committed, polled = (
            max(
                (row["offset"] for row in rows if (row["kind"], row["key"]) == (kind, key)),
                default=-1,
            )
            for kind in ("commit_offset", "poll")
        )
        if committed <= polled or committed < 0:
            found.append(f"{key}: offset {committed} was committed, and offset {polled} was polled")
    return found


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=sorted(RECORDERS), help="repeatable")
    parser.add_argument("--samples", action="store_true", help="write the histories of a test")
    options = parser.parse_args(words)
    is_green = True
    try:
        for name in options.only or RECORDERS:
            service = RECORDERS[name]()
            for case in CASES:
                with tempfile.TemporaryDirectory() as folder:
                    record(service, case, Path(folder))
                    wrong = faults(Path(folder), case)
                    if name in COMMITTING:
                        wrong += uncommitted(Path(folder))
                is_green &= not wrong
                does = "aborts" if case.aborts else "sends"
                sys.stderr.write(
                    f"{name} {does} on {case.bug or 'a correct broker'}: "
                    f"{'; '.join(wrong) or 'as expected'}\n"
                )
            if options.samples:
                _keep_sample(name, service)
    except InputFault as fault:
        sys.stderr.write(f"{fault}\n")
        return 2
    return 0 if is_green else 1


def _keep_sample(name: str, service: Command) -> None:
    SAMPLES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        record(service, OF_SAMPLES, Path(folder))
        (written,) = Path(folder).glob("recorder-*.ndjson")
        shutil.copy(written, SAMPLES / f"{name}.ndjson")


if __name__ == "__main__":
    sys.exit(main())
