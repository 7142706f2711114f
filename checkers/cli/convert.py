"""`urteil convert`: writes any history as a folder of Parquet files."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from checkers.cli.command import FOLDER, command
from checkers.cli.history_options import at_version, table_version_option
from checkers.cli.places import PLACE
from checkers.cli.run import Run
from checkers.cli.topics import refuse_for_others, topic_options, whole_topic
from checkers.events import Measured

if TYPE_CHECKING:
    from pathlib import Path

    from checkers.histories.io.converting import Converted
    from checkers.histories.io.locations import Place
    from checkers.histories.topics.address import Topic


@click.command("convert")
@click.argument("history", metavar="HISTORY", type=PLACE)
@click.argument("folder", metavar="FOLDER", type=FOLDER)
@topic_options
@table_version_option
@command(decides=False, folder=False)
def convert_command(
    run: Run,
    history: Place | Topic,
    folder: Path,
    client_config: Path | None,
    schemas: str | None,
    table_version: int | None,
) -> None:
    """Write HISTORY as Parquet, the fastest format for `urteil analyze`, into the new FOLDER.

    HISTORY is anything that `urteil analyze` reads: Jepsen's EDN, NDJSON, Parquet, Avro, a
    recording, a Delta or Iceberg table, an address, a Kafka topic or a glob. Columns and fields
    that the format does not have are left out and counted.

    \b
    urteil convert store/latest/history.edn histories/latest
    urteil convert 's3://bucket/histories/*.ndjson' histories/november
    urteil convert kafka://broker:9092/operations histories/staging
    """
    converted = _converted(history, folder, client_config, schemas, table_version)
    for name, count in sorted(converted.unmapped.items()):
        run.emit(Measured(metric=f"left out: {name}", value=count, unit="values"))
    run.emit(Measured(metric=f"{folder}: rows", value=converted.rows))


def _converted(
    history: Place | Topic,
    folder: Path,
    client_config: Path | None,
    schemas: str | None,
    table_version: int | None,
) -> Converted:
    from checkers.histories.io.converting import convert
    from checkers.histories.io.locations import expanded
    from checkers.histories.topics.address import Topic

    location = history if isinstance(history, Topic) else expanded(history)
    refuse_for_others(location, client_config=client_config, schemas=schemas)
    location = at_version(location, table_version)
    if not isinstance(location, Topic):
        return convert(location, folder)
    unmapped = Counter[str]()
    with whole_topic(location, client_config, schemas, unmapped) as copied:
        converted = convert(copied, folder)
    return replace(converted, unmapped=unmapped)
