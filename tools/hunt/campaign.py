"""Conducts one run of the hunt: starts the cluster, records a history under faults, and judges it.

The history is checked as by `urteil analyze`, and the log directories of the brokers as by
`urteil analyze --log-dirs`. The folder of the run is deleted if the verdict is `holds`.
"""

from __future__ import annotations

import json
import random
import shutil
import threading
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException

from checkers.histories.analysis import analyze
from checkers.histories.io.assumptions import assumptions_of
from checkers.histories.io.faults import Step, paired, write_faults
from checkers.log_dirs.audit import audit
from checkers.record.options import RecordOptions
from checkers.record.recording import SUFFIXES, record
from checkers.report.anomalies import explained
from checkers.systems import rounds
from checkers.systems.apache_kafka import cluster, jars
from model.faults import InputFault
from tools.hunt.changes import Changer
from tools.hunt.plan import Plan
from tools.hunt.record import Row

HISTORY: Final = "history"
CLUSTER: Final = "cluster"
CHANGES: Final = "changes.ndjson"
VERDICT: Final = "verdict.txt"
FAILURE: Final = "failure.txt"  # why a run failed
TOPIC: Final = "hunt"
FAULTS_S: Final = 25.0  # a run has no new faults and changes after this time


@dataclass(slots=True)
class Done:
    faults: list[Step] = field(default_factory=list[Step])
    changer: Changer | None = None


def conduct(plan: Plan, folder: Path) -> Row:
    """Runs the plan in the new folder `folder`, and returns its row for the record.

    After Ctrl-C, the verdict is `interrupted`, and the caller must not begin another run.
    """
    began, done = time.monotonic(), Done()
    row = Row(
        seed=plan.seed,
        day=datetime.now(tz=UTC).date().isoformat(),
        version=plan.version,
        workload=plan.workload,
        acks=plan.acks,
        replicas=plan.replicas,
        verdict="undecided",
        seconds=0.0,
        settings=plan.settings,
        features=plan.features,
        known=plan.known,
    )
    folder.mkdir(parents=True)
    try:
        _record(plan, folder, done)
        row = judged(row, folder)
    except KeyboardInterrupt:
        row = replace(row, verdict="interrupted")
    except (InputFault, KafkaException) as error:  # the cluster or a client gave up: no verdict
        row = replace(row, verdict="failed", reason=str(error))
        (folder / FAILURE).write_text(traceback.format_exc(), encoding="utf-8")
    changes = () if done.changer is None else done.changer.done
    (folder / CHANGES).write_text(
        "".join(json.dumps(asdict(one)) + "\n" for one in changes), encoding="utf-8"
    )
    if row.verdict == "holds":
        shutil.rmtree(folder)
    return replace(
        row,
        seconds=round(time.monotonic() - began, 1),
        faults=dict(Counter(fault.do for fault in paired(done.faults))),
        changes=dict(Counter(one.kind for one in changes if one.error == "NONE")),
    )


def _record(plan: Plan, folder: Path, done: Done) -> None:
    found = jars.download(plan.version)
    topics = frozenset(TOPIC + suffix for suffix in SUFFIXES[plan.workload])
    with cluster.running(folder / CLUSTER, found, plan.layout) as system:
        addresses = {broker: system.address(broker) for broker in system.brokers}
        changer = Changer(random.Random(f"changes {plan.seed}"), addresses, topics)
        done.changer = changer

        def inflict(sent: threading.Event) -> None:
            over = _over(sent)
            changing = threading.Thread(target=changer.run, args=(plan.changes, over))
            changing.start()
            session_s = plan.layout.session_s
            drawn = rounds.rounds(plan.seed, plan.faults, system.brokers, session_s)
            try:
                rounds.inflict(system, drawn, over, done.faults)
            finally:
                changing.join()

        options = RecordOptions(
            folder=folder / HISTORY,
            bootstrap_servers=system.bootstrap_servers,
            workload=plan.workload,
            topic=TOPIC,
            replication_factor=plan.replicas,
            sends=plan.sends,
            pause_s=plan.pause_s,
            acks=plan.acks,
            seed=plan.seed,
            system=system.name,
            broker_config=plan.settings,
            fault_injector=inflict,
        )
        try:
            record(options)
        finally:
            if options.folder.exists():
                write_faults(options.folder, done.faults)


def _over(sent: threading.Event) -> threading.Event:
    over = threading.Event()

    def end() -> None:
        sent.wait(FAULTS_S)
        over.set()

    threading.Thread(target=end, daemon=True).start()
    return over


def judged(row: Row, folder: Path) -> Row:
    """Returns the row with its verdict and violations.

    The verdict is `violated` if the history or a log directory has an anomaly that the settings do
    not permit. Otherwise it is `undecided` if the history breaks an assumption or has nothing to
    check. In all other cases it is `holds`.
    """
    history = folder / HISTORY
    analysis = analyze(history, declared=assumptions_of(history))
    (folder / VERDICT).write_text(explained(analysis) + "\n", encoding="utf-8")
    broken = tuple(one.assumption.id for one in analysis.broken)
    audited = audit(log_dirs(folder))
    violated = {
        **{d.anomaly.id: d.permitted for d in analysis.decisions if d.verdict == "violated"},
        **{d.check.id: d.permitted for d in audited.decisions if d.verdict == "violated"},
    }
    worse = tuple(name for name, permitted in violated.items() if not permitted)
    undecided = analysis.verdict in ("assumptions broken", "nothing checked")
    return replace(
        row,
        verdict="violated" if worse else "undecided" if undecided else "holds",
        operations=analysis.operations,
        violated=worse,
        permitted=tuple(name for name, permitted in violated.items() if permitted),
        reason=f"broken assumption: {', '.join(broken)}" if broken else "",
    )


def log_dirs(folder: Path) -> Sequence[Path]:
    return sorted((folder / CLUSTER).glob("node-[1-9]*/logs"))
