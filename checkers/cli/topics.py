"""Reads a Kafka topic that is the HISTORY of a command (kafka://...). The topic is copied first,
and the copy is analyzed.

The copy is in the folder `topics` next to the run folders. A later run adds the new records of the
topic to the copy.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from checkers.cli.run import Run
from model.faults import InputFault

if TYPE_CHECKING:
    from collections import Counter

    from checkers.client_config import ClientConfig
    from checkers.histories.topics.address import Topic
    from checkers.histories.topics.copying import TopicCopy
    from checkers.histories.topics.value_schemas import ValueSchemas

TOPICS: Final = "topics"  # a folder below the parent of the runs
FOLLOW_INTERVAL_S: Final = 5.0  # least time between two analyses of a followed topic


_OPTIONS: Final = (
    click.option(
        "--client-config",
        type=click.Path(path_type=Path),
        help="Properties file for the client of a kafka:// topic, in librdkafka's keys: TLS, SASL.",
    ),
    click.option(
        "--schemas",
        metavar="PLACE",
        help="Schemas of a kafka:// topic in Avro: a folder with ID.avsc, or the http:// address of"
        " a schema registry.",
    ),
)


def topic_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def refuse_for_others(history: object, **options: object) -> None:
    """Raises InputFault if one of `options`, which apply to Kafka topics, is set although the
    history is not a Kafka topic.
    """
    from checkers.histories.topics.address import Topic

    for name, value in options.items():
        if value is not None and not isinstance(history, Topic):
            option = name.replace("_", "-")
            raise InputFault(f"--{option} is for kafka:// topics, and {history} is none")


@contextmanager
def topic_copy(
    run: Run, topic: Topic, client_config: Path | None, schemas: str | None
) -> Generator[TopicCopy]:
    """Yields the local copy of a Kafka topic, after the new records of the topic were copied.
    Raises InputFault if the topic has no records.
    """
    from checkers.histories.topics.copying import copying

    with copying(topic, run.parent / TOPICS, _config(client_config)) as copy:
        copy.schemas = _schemas(schemas)
        new = copy.read_on(run.progress)
        if not copy.rows:
            raise InputFault(f"{topic}: the topic has no records; record operations into it first")
        run.note(f"{topic}: {new:,} new rows, {copy.rows:,} in all, in {copy.folder}")
        yield copy


@contextmanager
def whole_topic(
    topic: Topic, client_config: Path | None, schemas: str | None, unmapped: Counter[str]
) -> Generator[Path]:
    """Yields a temporary folder with a copy of the history that was recorded in the topic. The
    folder is removed when the `with` block ends.

    For each field of the records that is not a field of an operation, `unmapped` counts how often
    it occurred.
    """
    from checkers.histories.topics.copying import copying

    with (
        tempfile.TemporaryDirectory(prefix="urteil-topic-") as temporary,
        copying(topic, Path(temporary), _config(client_config)) as copy,
    ):
        copy.unmapped, copy.schemas = unmapped, _schemas(schemas)
        copy.read_on()
        yield copy.folder


def topic_growths(run: Run, copy: TopicCopy) -> Iterator[None]:
    """Copies new records of the topic repeatedly, without end. Yields one time at the beginning,
    and then each time after new records were copied.
    """
    yield
    while True:
        time.sleep(FOLLOW_INTERVAL_S)
        if copy.read_on(run.progress):
            yield


def _config(path: Path | None) -> ClientConfig:
    from checkers.client_config import ClientConfig, read

    return read(path) if path else ClientConfig()


def _schemas(place: str | None) -> ValueSchemas | None:
    from checkers.histories.topics.value_schemas import schemas_at

    return None if place is None else schemas_at(place)
