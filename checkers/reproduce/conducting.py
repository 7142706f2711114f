"""Runs one case of a reproduction: starts a cluster, performs the steps of the case, and records a
history.

The folder of a case contains these files and folders:

- `history`: the history and the faults, in the format of `urteil record`;
- `cluster`: the settings, logs and data of every node;
- `steps.txt`: the list of steps;
- `proxies.txt`: the actions of the proxies, if the case has proxies.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException

from checkers.histories.io.faults import write_faults
from checkers.record.clients import LIBRARIES
from checkers.record.processes import Shared, Topic
from checkers.record.store import Described, HistoryWriter
from checkers.reproduce.reproduction import Case, Seen, Step
from checkers.reproduce.stage import TOPIC, Stage
from checkers.systems.administration import Refused
from checkers.systems.apache_kafka.cluster import running
from checkers.systems.apache_kafka.jars import Jars
from checkers.systems.opening import CLUSTER

CHECK_EVERY_S: Final = 0.1
# A broker refuses or does not answer, or a client fails: the step did not happen.
FAILED: Final = (Refused, KafkaException, ConnectionError)
HISTORY: Final = "history"
STEPS: Final = "steps.txt"
PROXIES: Final = "proxies.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    step: Step
    at_s: float
    seen: Seen

    def __str__(self) -> str:
        mark = "✓" if self.seen.reached else "✗"
        return f"  {mark} {self.at_s:5.1f} s  {self.step.text}\n             {self.seen.text}"


def conduct(
    case: Case, jars: Jars, folder: Path, report: Callable[[Taken], None]
) -> tuple[Taken, ...]:
    """Runs the steps of a case, and ends after the first step that fails. Returns the steps that
    ran. A failed step is the last of them.

    Calls `report` after each step. Raises SystemFailed if the cluster does not start.
    """
    taken: list[Taken] = []
    described = Described(
        workload="reproduction",
        clients={**LIBRARIES, "apache-kafka": jars.version},
        settings={"about": case.about, "isolation": "read_committed", "sub_via": ["assign"]},
        seed=0,
    )
    folder.mkdir(parents=True)
    with running(folder / CLUSTER, jars, case.layout) as cluster:
        with HistoryWriter(folder / HISTORY, described) as history:
            stage = Stage(cluster, Shared(history), Topic(TOPIC, case.partitions))
            begin = time.monotonic()
            try:
                for step in case.steps:
                    seen = _take(step, stage)
                    taken.append(Taken(step=step, at_s=time.monotonic() - begin, seen=seen))
                    report(taken[-1])
                    if not seen.reached:
                        break
            finally:
                stage.close()
                history.unread = stage.unread
        write_faults(folder / HISTORY, stage.faults)
        if cluster.proxies is not None:
            happened = "".join(f"{one.at_ns} {one}\n" for one in cluster.proxies.log)
            (folder / PROXIES).write_text(happened, encoding="utf-8")
    (folder / STEPS).write_text("".join(f"{one}\n" for one in taken), encoding="utf-8")
    return tuple(taken)


def _take(step: Step, stage: Stage) -> Seen:
    try:
        step.do(stage)
    except FAILED as error:
        return Seen(reached=False, text=str(error))
    until = time.monotonic() + step.within_s
    while True:
        try:
            seen = step.happened(stage)
        except FAILED as error:
            seen = Seen(reached=False, text=str(error))
        if seen.reached:
            return seen
        if time.monotonic() > until:
            return replace(seen, text=f"not within {step.within_s:.0f} s: {seen.text}")
        time.sleep(CHECK_EVERY_S)
