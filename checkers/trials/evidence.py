"""Writes a trial (a test run) to a folder. Each entry below has a file of the folder and its
contents:

    program.txt         the verdict, how many repetitions of the trial agree, and its calls
    trial.json          the same calls and where they ran, for `urteil replay`
    faults.ndjson       each fault, with its time on the real clock
    history.parquet     what the clients observed
    node-1.log.gz       the log of each node, up to the end of the repetitions
    node-1.trace.gz     the lines of the node's trace that name the topic partition `orders-0`, if
                        there is a trace

The reference broker writes no logs, because it runs inside Urteil. A trial that is no evidence has
only the program, the faults and the history.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from checkers.histories.io.operation_rows import as_table
from checkers.systems.apache_kafka.cluster import Cluster
from checkers.systems.system import Settings, System
from checkers.trials.deciding import Judged
from checkers.trials.layout import NO_SETTINGS
from checkers.trials.trial import Ran
from properties.suites.machines.driven import TOPIC_PARTITION
from properties.suites.suite import Suite

PROGRAM: Final = "program.txt"
TRIAL: Final = "trial.json"
FAULTS: Final = "faults.ndjson"
HISTORY: Final = "history.parquet"
HISTORIES: Final = "histories"  # the subfolder for trials that are no evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The system on which a trial (a test run) ran, the broker settings of the system, and whether
    it had proxies.
    """

    system: str
    settings: Settings = field(default_factory=dict[str, str], hash=False)
    proxied: bool = False


def program(suite: Suite, ran: Ran) -> str:
    """Returns the calls of a trial (a test run) as a runnable program, with a comment after each
    call.

    The comment is the first line of the docstring of the called rule. After the calls of this
    trial, the text has the calls of the trials that ran at the same time.
    """
    name = suite.machine.__name__
    lines = list[str]()
    for number, calls in enumerate((ran.calls, *ran.beside)):
        lines += [""] * bool(number)
        beside = "  # at the same time" if number else ""
        lines.append(f"{name}({ran.setting!r}){beside}")
        for call in calls:
            said = (getattr(suite.machine, call.rule).__doc__ or "").strip().splitlines()[0]
            lines.append(f"{call}  # {said}")
        lines.append("state.teardown()  # ends all faults, and judges the run")
    return "\n".join(lines)


def kept(
    folder: Path, suite: Suite, judged: Judged, system: System, settings: Settings = NO_SETTINGS
) -> Path | None:
    """Writes the evidence of a trial (a test run) to a new folder below `folder`, and returns the
    new folder. Returns None if the verdict has no evidence.
    """
    if judged.evidence is None:
        return None
    ran = judged.evidence
    own = _new(folder, f"{suite.name}-{judged.side.claim}")
    head = f"# {judged.side}: {judged.verdict}; {judged.reason}"
    _write(own, head, suite, ran)
    origin = Origin(system=system.name, settings={**settings}, proxied=system.proxies is not None)
    described = {
        "suite": suite.name,
        "claim": judged.side.claim,
        "setting": ran.setting,
        "origin": asdict(origin),
        "programs": [[str(call) for call in calls] for calls in (ran.calls, *ran.beside)],
    }
    (own / TRIAL).write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")
    if isinstance(system, Cluster):
        _keep_logs(own, system)
    return own


def keep_last(folder: Path, suite: Suite, judged: Judged) -> Path | None:
    """Writes the last trial (test run) for a verdict that has no evidence. Returns the folder of
    the trial. Returns None if the verdict has evidence, or if no trial has a history.

    The subfolder `histories` has one folder for each suite and setting. It contains the last trial
    in this setting.
    """
    if judged.evidence is not None or judged.last is None:
        return None
    setting = judged.side.setting
    own = folder / HISTORIES / re.sub(r"[^\w.=-]+", "-", f"{suite.name}-{setting}")
    own.mkdir(parents=True, exist_ok=True)
    _write(own, f"# {suite.name} ({setting}): the last trial", suite, judged.last)
    return own


def _write(own: Path, head: str, suite: Suite, ran: Ran) -> None:
    (own / PROGRAM).write_text(f"{head}\n{program(suite, ran)}\n", encoding="utf-8")
    began_ns = min((one.invoked_ns for one in ran.history), default=0)
    lines = (
        json.dumps({**asdict(fault), "after_s": round((fault.at_ns - began_ns) / 1e9, 3)})
        for fault in ran.inflicted
    )
    (own / FAULTS).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    pq.write_table(as_table(ran.history), own / HISTORY)  # pyright: ignore[reportUnknownMemberType]


def _keep_logs(own: Path, cluster: Cluster) -> None:
    about = str(TOPIC_PARTITION).encode()
    for node in cluster.nodes:
        _pack(cluster.log(node), own / f"node-{node}.log.gz", b"")
        if cluster.trace(node).exists():
            _pack(cluster.trace(node), own / f"node-{node}.trace.gz", about)


def _pack(log: Path, to: Path, about: bytes) -> None:
    with log.open("rb") as lines, gzip.open(to, "wb") as packed:
        packed.writelines(line for line in lines if about in line)


def _new(folder: Path, name: str) -> Path:
    number = 1
    while (own := folder / (name if number == 1 else f"{name}-{number}")).exists():
        number += 1
    own.mkdir(parents=True)
    return own
