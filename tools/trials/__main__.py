"""Writes the record of trials (test runs) on a running system, and builds the page docs/trials.md.

`python -m tools.trials --on apache-kafka:4.3.0 [--seconds 200] [--drawn 3] [SUITE ...]` starts the
system, and decides claims of the suites by trials. A trial runs a list of calls on the system, and
judges the observations of the clients. A claim has a condition; for example, a condition on
settings. The claim must hold where its condition is true. Where the condition is false, the claim
should be violated. Each of these two cases has a verdict.

Only claims without a verdict in the record are decided. With `--again`, all claims are decided.
`--drawn` is the number of trials with random calls for each verdict. After `--seconds`, no trials
for a further verdict begin, so the record grows over several runs. With `--page`, only the page is
written.
"""

from __future__ import annotations

import argparse
import fcntl
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, Queue
from typing import Final

from checkers.systems.opening import KafkaSystem, named
from checkers.trials import evidence
from checkers.trials.deciding import Effort, decide
from checkers.trials.layout import pace_for, started
from checkers.trials.powers import WEAKENED
from checkers.trials.trial import Trials
from properties.suites.machines.driven import Power
from properties.suites.registry import SUITES, suite_named
from properties.suites.suite import Side, Suite
from tools.trials.page import PAGE, page
from tools.trials.record import KEPT, Decided, keep, kept, merged, place, row

KILLS: Final = (
    "replication",
    "elections",
    "retention",
)  # suites that say little without faults of brokers
NO_FAULTS: Final = WEAKENED  # the powers that are settings of brokers
Sides = tuple[Suite, tuple[Side, ...]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", help="suites; default: all")
    parser.add_argument("--on", default="apache-kafka", help="the system, as of urteil test --on")
    parser.add_argument("--seconds", type=float, default=200.0)
    parser.add_argument("--drawn", type=int, default=Effort().drawn)
    parser.add_argument("--rules", type=int, default=Effort().rules)
    parser.add_argument("--beside", type=int, default=5, help="trials at the same time")
    parser.add_argument("--share", type=float, default=0.7, help="of the time, for them")
    parser.add_argument("--tries", type=int, default=Effort().tries, help="of each known program")
    parser.add_argument("--repeats", type=int, default=Effort().repeats)
    parser.add_argument("--fragile", type=int, default=Effort().fragile)
    parser.add_argument("--side", choices=("inside", "outside"))
    parser.add_argument("--claim", action="append", default=[])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pace", type=int)
    parser.add_argument("--proxied", action="store_true", help="so that links can be cut")
    parser.add_argument("--together", type=int, default=4, help="trials of a side, inside")
    parser.add_argument("--faults", action="store_true", help="of brokers, for every side")
    parser.add_argument("--broker-config", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--folder", type=Path, help="of the cluster and the evidence")
    options = parser.parse_args()
    if not options.page:
        run(options)
    PAGE.write_text(page(kept()), encoding="utf-8")


def run(options: argparse.Namespace) -> None:
    """Decides claims until the time is over, and saves each verdict at once."""
    name = named(options.on)
    folder: Path = options.folder or Path(tempfile.mkdtemp(prefix="trials-"))
    note(f"files in {folder}")
    effort = Effort(
        drawn=options.drawn,
        rules=options.rules,
        fragile=options.fragile,
        tries=options.tries,
        repeats=options.repeats,
        together=options.together if isinstance(name, KafkaSystem) else 1,
    )
    settings = dict(text.split("=", 1) for text in options.broker_config)
    suites = [suite_named(name) for name in options.suites or SUITES]
    traced = any(Power.INSIDE in suite.machine.SETTING_NEEDS.values() for suite in suites)
    pace: int = options.pace or pace_for(name)
    writing = threading.Lock()
    with started(
        name, folder / "cluster", settings, proxied=options.proxied, traced=traced
    ) as system:
        began = time.monotonic()

        def work(todo: Queue[Sides], allowed: frozenset[Power], share: float) -> None:
            trials = Trials(system, pace, allowed)
            own = replace(effort, together=1) if allowed is NO_FAULTS else effort
            while time.monotonic() < began + options.seconds * share:
                try:
                    suite, sides = todo.get_nowait()
                except Empty:
                    return
                for judged in decide(
                    trials, suite, sides, seed=options.seed, effort=own, progress=note
                ):
                    today = datetime.now(tz=UTC).date().isoformat()
                    new = row(system.name, suite, judged, today, tuple(options.broker_config))
                    note(f"{new.claim} ({new.setting}): {new.verdict}, {new.why}, {new.again}")
                    with writing:
                        evidence.kept(folder, suite, judged, system, settings)
                    add(new)

        beside, alone = Queue[Sides](), Queue[Sides]()
        for suite in suites:
            for sides in open_sides(suite, system.name, options):
                needs_kills = suite.machine.CLAIM_NEEDS.keys() & {side.claim for side in sides}
                is_alone = options.faults or needs_kills or suite.name in KILLS
                (alone if is_alone else beside).put((suite, sides))
        with ThreadPoolExecutor(options.beside) as pool:
            jobs = [
                pool.submit(work, beside, NO_FAULTS, options.share) for _ in range(options.beside)
            ]
        for job in jobs:
            job.result()
        work(alone, frozenset(Power), 1.0)


def add(new: Decided) -> None:
    """Adds a verdict to `record.json`. Waits while another process or thread adds a verdict."""
    KEPT.touch()
    with KEPT.open("rb") as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)
        keep(merged(kept(), (new,)))


def open_sides(suite: Suite, system: str, options: argparse.Namespace) -> list[tuple[Side, ...]]:
    """Returns the sides that still need trials, in groups that share their trials.

    A side is a claim, a setting, and the expected verdict. The setting satisfies the claim's
    condition (inside), or violates it (outside).
    """
    done: set[tuple[str, ...]] = (
        set() if options.again else {one.key for one in kept() if one.verdict != "undecided"}
    )
    chosen = [
        side
        for side in suite.sides
        if not side.bugs
        and options.side in {None, place(suite, side)}
        and (not options.claim or side.claim in options.claim)
        and (system, suite.name, side.claim, place(suite, side), side.setting) not in done
    ]
    together: dict[tuple[str, ...], list[Side]] = {}
    for side in chosen:
        is_shared = side.expected == "holds" and side.claim in suite.always
        kills = str(suite.name in KILLS or side.claim in suite.machine.CLAIM_NEEDS)
        key = (side.setting, str(is_shared), kills)
        together.setdefault(key, []).append(side)
    return [tuple(sides) for sides in together.values()]


def note(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
