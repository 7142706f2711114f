"""`urteil trace --on SYSTEM`: records a short workload with faults, and finds the TRACE logs of the
brokers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from checkers.cli.record import emit_result, record, subject_of
from checkers.cli.run import Run
from checkers.run_files import HISTORY
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.record.options import Workload

BROKERS: Final = 3
PARTITIONS: Final = 2
SENDS: Final = 300
PAUSE_S: Final = 0.3
FAULT: Final = "kill"


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    on: str
    kafka_home: Path | None
    broker_config: Sequence[str]
    faults: Sequence[str]  # none: FAULT
    workload: Workload


def recorded(run: Run, campaign: Campaign) -> Path:
    """Records a short workload with faults on the system, and returns the folder of the TRACE logs
    that the brokers wrote.

    Raises InputFault if the system writes no TRACE logs, and SystemFailed if the system does not
    start.
    """
    from checkers.record.options import RecordOptions
    from checkers.systems.opening import CLUSTER, KafkaSystem, named

    system = named(campaign.on, campaign.kafka_home)
    if not isinstance(system, KafkaSystem):
        raise InputFault(
            f"--on {campaign.on}: only Apache Kafka that Urteil starts writes TRACE logs; use"
            " apache-kafka:VERSION, or name the LOGS of your own cluster"
        )
    assert run.folder is not None
    faults = campaign.faults or [FAULT]
    subject = subject_of(run, system, BROKERS, campaign.broker_config, faults, traced=True)
    options = RecordOptions(
        folder=run.folder.path / HISTORY,
        bootstrap_servers="",
        workload=campaign.workload,
        partitions=PARTITIONS,
        sends=SENDS,
        pause_s=PAUSE_S,
        seed=run.seed,
        progress=run.progress,
    )
    emit_result(run, record(run, options, subject))
    return run.folder.path / CLUSTER
