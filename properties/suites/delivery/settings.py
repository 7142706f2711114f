"""The settings of the suite `delivery`, by name. A setting is the configuration of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Final

from model.histories import Isolation
from properties.suites.delivery import applications
from properties.suites.delivery.instance import ProgramFactory
from reference_impl.simulation.cluster import TOPIC_PARTITION
from reference_impl.simulation.producer_config import ProducerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A configuration of a run: the application, the producer of its input, and the reader of
    its output.
    """

    condition: str
    runs: ProgramFactory
    producer: ProducerConfig = field(default_factory=ProducerConfig)
    is_replaced: bool = True  # an instance may be paused until another instance has taken over
    is_rewound: bool = False
    has_output: bool = False
    reads: Isolation = "read_committed"  # the isolation level of the reader of the output
    drops_repeats: bool = False  # the reader of the output drops values that it has seen


SETTINGS: Final = {
    "position first": Setting(
        condition="commits the position, then processes; the producer does not retry",
        runs=applications.position_first,
        producer=ProducerConfig(idempotent=False, retries=False),
    ),
    "position first, the producer retries": Setting(
        condition="commits the position, then processes; the producer retries without idempotence",
        runs=applications.position_first,
        producer=ProducerConfig(idempotent=False),
    ),
    "processing first": Setting(
        condition="processes, then commits the position; acks=all, endless retries",
        runs=applications.processing_first,
    ),
    "processing first, no retries": Setting(
        condition="processes, then commits the position; the producer does not retry",
        runs=applications.processing_first,
        producer=ProducerConfig(idempotent=False, retries=False),
    ),
    "pipeline": Setting(
        condition="output and position in one transaction, which carries the group's generation",
        runs=applications.pipeline,
        has_output=True,
    ),
    "pipeline, a transactional id for each partition": Setting(
        condition="output and position in one transaction; the transactional id is the partition's",
        runs=partial(
            applications.pipeline, sends_generation=False, transactional_id=str(TOPIC_PARTITION)
        ),
        has_output=True,
    ),
    "pipeline without generation": Setting(
        condition="output and position in one transaction without the group's generation",
        runs=partial(applications.pipeline, sends_generation=False),
        has_output=True,
    ),
    "pipeline, position apart": Setting(
        condition="output in a transaction, then a separate commit of the position",
        runs=applications.producing_apart,
        has_output=True,
    ),
    "pipeline, read uncommitted": Setting(
        condition="output and position in one transaction; the output is read at read_uncommitted",
        runs=applications.pipeline,
        has_output=True,
        reads="read_uncommitted",
    ),
    "pipeline with a side effect": Setting(
        condition="a pipeline whose processing writes to a database",
        runs=applications.with_side_effect,
        has_output=True,
    ),
    "pipeline with a side effect that is guarded": Setting(
        condition="as the pipeline with a side effect, with a consumed-messages table",
        runs=partial(applications.with_side_effect, is_guarded=True),
        has_output=True,
    ),
    "position with output": Setting(
        condition="output and position in one database transaction that checks the old position",
        runs=applications.position_with_output,
    ),
    "position with output, overwritten": Setting(
        condition="output and position in one database transaction that overwrites the position",
        runs=partial(applications.position_with_output, checks_position=False),
    ),
    "output, then position": Setting(
        condition="output in one database, then the position in another",
        runs=partial(applications.two_databases, output_first=True),
        is_replaced=False,
    ),
    "position, then output": Setting(
        condition="the position in one database, then the output in another",
        runs=partial(applications.two_databases, output_first=False),
        is_replaced=False,
    ),
    "two-phase commit": Setting(
        condition="output prepared in one database; the position in another decides the commit",
        runs=applications.two_phase_commit,
        is_replaced=False,
    ),
    "commits in poll": Setting(
        condition="a poll commits the records of earlier polls (the Java client's default)",
        runs=applications.committing_in_poll,
    ),
    "commits behind": Setting(
        condition="a client thread commits all records handed over (librdkafka's default)",
        runs=applications.committing_in_background,
    ),
    "commits in poll, processed elsewhere": Setting(
        condition="as commits in poll, but processing ends after the next poll",
        runs=applications.handing_over,
    ),
    "commits in poll, from the latest": Setting(
        condition="as commits in poll, with auto.offset.reset=latest",
        runs=partial(applications.committing_in_poll, offset_reset="latest"),
    ),
    "rewinds": Setting(
        condition="seeks back to an older offset on demand",
        runs=applications.rewinding,
        is_rewound=True,
    ),
    "rewinds by a commit": Setting(
        condition="commits an older offset on demand, and reads on without a seek",
        runs=partial(applications.rewinding, by_commit=True),
        is_rewound=True,
    ),
    "consumed table": Setting(
        condition="effect and consumed-messages table in one transaction, then the position",
        runs=applications.idempotent_consumer,
        producer=ProducerConfig(idempotent=False),
    ),
    "consumed table apart": Setting(
        condition="a consumed-messages table written in a separate transaction before the effect",
        runs=applications.marking_apart,
    ),
    "database, then Kafka": Setting(
        condition="commits the database transaction, then the Kafka transaction",
        runs=applications.database_then_kafka,
        has_output=True,
    ),
    "database, then Kafka, idempotent": Setting(
        condition="database first, with a consumed-messages table; the result is sent again",
        runs=partial(applications.database_then_kafka, is_idempotent=True),
        has_output=True,
    ),
    "database, then Kafka, known messages dropped": Setting(
        condition="database first, with a consumed-messages table; a repeat sends nothing",
        runs=partial(applications.database_then_kafka, is_idempotent=True, drops_known=True),
        has_output=True,
    ),
    "Kafka, then database": Setting(
        condition="commits the Kafka transaction, then the database transaction",
        runs=applications.kafka_then_database,
        has_output=True,
    ),
    "Kafka, then database, idempotent": Setting(
        condition="Kafka first; reads again from the database's position; downstream drops repeats",
        runs=partial(applications.kafka_then_database, repairs=True),
        has_output=True,
        drops_repeats=True,
    ),
}
