"""Campaigns: a cluster with certain settings, a workload, faults during the workload, and a
verdict.

The campaigns `safe` and `unsafe` differ only in the cluster's settings and in the producer's
`acks`. Both have the same faults, which are drawn from one seed. The verdict needs only the
campaign's folder. The folder has the history, the faults with their times, and `campaign.json` with
versions and settings.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from checkers.client_config import Acks
from checkers.histories.analysis import Analysis, analyze
from checkers.histories.io.assumptions import assumptions_of
from checkers.histories.io.faults import Step, paired, write_faults
from checkers.histories.io.recorded import metadata
from checkers.java import choose
from checkers.record.options import RecordOptions, Workload
from checkers.record.recording import record
from checkers.systems import rounds
from checkers.systems.apache_kafka import cluster, jars
from checkers.systems.apache_kafka.settings import EVERY_NODE, SAFE, UNSAFE
from checkers.systems.system import SESSION, Layout, Settings

OUTCOME: Final = "campaign.json"
FAULTS: Final = ("kill", "pause", "last-standing")  # those of the recorded campaigns
QUICK: Final[Settings] = {  # a fault takes effect within two seconds, and a campaign takes minutes
    "broker.heartbeat.interval.ms": "300",
    SESSION: "1500",
    "replica.lag.time.max.ms": "1500",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """The settings and the workload of a recording. `seed` determines the faults."""

    settings: Settings
    acks: Acks = "all"
    workload: Workload = "append-and-read"
    sends: int = 2_400
    pause_s: float = 0.3  # of each of six processes that send: two minutes
    seed: int = 0


CAMPAIGNS: Final[Mapping[str, Campaign]] = {
    "safe": Campaign(settings=SAFE),
    "unsafe": Campaign(settings=UNSAFE, acks="1"),
    "transactions": Campaign(settings=SAFE, workload="transactions", sends=1_200, pause_s=0.6),
}


def conduct(campaign: Campaign, folder: Path) -> None:
    """Runs a campaign, and writes the history, the faults and `campaign.json` into the folder.

    The files of the cluster are in a neighbouring folder, whose name ends in `-cluster`.
    """
    done: list[Step] = []
    found = jars.download(jars.DEFAULT_VERSION)
    layout = Layout(settings={**QUICK, **campaign.settings})
    with cluster.running(folder.with_name(f"{folder.name}-cluster"), found, layout) as system:

        def faults(sent: threading.Event) -> None:
            drawn = rounds.rounds(campaign.seed, FAULTS, system.brokers, layout.session_s)
            rounds.inflict(system, drawn, sent, done)

        recorded = record(
            RecordOptions(
                folder=folder,
                bootstrap_servers=system.bootstrap_servers,
                workload=campaign.workload,
                replication_factor=3,
                sends=campaign.sends,
                pause_s=campaign.pause_s,
                acks=campaign.acks,
                seed=campaign.seed,
                fault_injector=faults,
            )
        )
    write_faults(folder, done)
    outcome = {
        "apache_kafka": found.version,
        "java": choose().version,
        "settings": dict(campaign.settings),
        "settings_of_every_node": {**EVERY_NODE, **QUICK},
        "recorded_in_s": round(recorded.seconds, 1),
        "unread": list(recorded.unread),
        "outcomes": {" ".join(name): count for name, count in recorded.outcomes.items()},
        "faults": dict(Counter(fault.do for fault in paired(done))),
    }
    (folder / OUTCOME).write_text(json.dumps(outcome, indent=1) + "\n")


def judged(history: Path) -> tuple[Analysis, dict[str, Any]]:
    """Returns the analysis of a recorded campaign, and its entry in the result file."""
    recorded, outcome = metadata(history), json.loads((history / OUTCOME).read_text())
    analysis = analyze(history, declared=assumptions_of(history))
    return analysis, {
        "clients": recorded["clients"],
        "workload": recorded["workload"],
        "acks": recorded["settings"]["acks"],
        **outcome,
        "verdict": analysis.verdict,
        "operations": analysis.operations,
        "anomalies": {
            decision.anomaly.id: {
                "verdict": decision.verdict,
                "count": decision.count,
                "observations": decision.observations,
                **({"permitted": decision.reason} if decision.permitted else {}),
            }
            for decision in analysis.decisions
        },
    }
