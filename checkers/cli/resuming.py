"""Reads an earlier recording for `urteil record --resume RUN`: its options, and the operations
that it recorded.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from checkers.cli.run import Run
from checkers.cli.runs import stored
from checkers.events import Measured
from checkers.report.decisions import many
from checkers.run_files import HISTORY
from model.faults import InputFault

if TYPE_CHECKING:
    from checkers.client_config import ClientConfig
    from checkers.over_time.kept_run import KeptRun
    from checkers.record.kept import Kept
    from checkers.record.options import RecordOptions

# option -> the field of RecordOptions; an option with another value than the recording is refused
FIELDS: Final = {
    "on": "system",
    "pause": "pause_s",
    **{
        name: name
        for name in (
            "workload", "topic", "partitions", "replication_factor", "producers", "consumers",
            "sends", "acks", "isolation", "seed",
        )
    },
}  # fmt: skip
OF_A_STARTED_SYSTEM: Final = (
    "kafka_home", "broker_config", "brokers", "faults", "traced", "bugs",
)  # fmt: skip


@contextmanager
def resumed(
    run: Run, text: str, client_config: ClientConfig
) -> Generator[tuple[RecordOptions, Kept]]:
    """Yields the options of an earlier recording, and the part of its history that was recorded.
    `text` names the run of the recording. A summary of this part is printed.

    The folder of the recording is locked until the `with` block ends. Raises InputFault if the
    recording cannot be resumed, or if an option on the command line contradicts the options of the
    recording.
    """
    from checkers.over_time.choosing import named
    from checkers.record.kept import resumable
    from checkers.record.recording import options_of

    # the store names the folders from the working folder of their commands
    runs = [replace(one, folder=str(run.parent / one.id)) for one in stored(run)]
    found = named(text, runs, counts=_has_history, having="a history")
    folder = Path(found.folder) / HISTORY
    with resumable(folder) as kept:
        options = options_of(kept, folder)
        if options.system != options.bootstrap_servers:
            raise InputFault(
                f"{found.folder}: {options.system or 'its system'} ended with the recording; start "
                "urteil broker --data-dir DIR, and record --on its address"
            )
        _refuse_contradictions(options)
        keys = kept.described["settings"].get("client_config_keys", [])
        if sorted(client_config.properties) != keys:
            needs = f"{', '.join(keys)}: pass that file" if keys else "nothing: leave it out"
            raise InputFault(f"--client-config: the file of this recording set {needs}")
        run.note(_sentence(found, kept))
        run.emit(Measured(metric="kept", value=kept.operations, unit="operations"))
        run.emit(Measured(metric="without an end", value=kept.endless, unit="operations"))
        yield replace(options, client_config=client_config, progress=run.progress), kept


def _has_history(run: KeptRun) -> bool:
    return (Path(run.folder) / HISTORY).is_dir()


def _sentence(found: KeptRun, kept: Kept) -> str:
    started = datetime.fromisoformat(found.started)
    count = many(kept.endless, "operation")
    parts = (
        f"kept {many(kept.operations, 'operation')} of the run of {started:%Y-%m-%d %H:%M} UTC",
        f"{count} had no end and {'counts' if kept.endless == 1 else 'count'} as undecided (info)"
        if kept.endless
        else "",
        "the last line was incomplete and is dropped" if kept.is_cut else "",
    )
    return "; ".join(filter(None, parts))


def _refuse_contradictions(options: RecordOptions) -> None:
    for name, value in _on_the_command_line().items():
        written = f"--{name.replace('_', '-')}"
        if name in OF_A_STARTED_SYSTEM:
            raise InputFault(
                f"{written.removesuffix('s')}: a resumed recording uses a running cluster: leave "
                "it out"
            )
        if name in FIELDS and value != getattr(options, FIELDS[name]):
            kept = getattr(options, FIELDS[name])
            raise InputFault(f"{written} {value}: the recording has {kept}; leave {written} out")


def _on_the_command_line() -> Mapping[str, Any]:
    context = click.get_current_context()
    return {
        name: value
        for name, value in context.params.items()
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
