"""The settings of the suite `delivery`: an application, who sends to it, and who reads from it.

Each is a condition under which a claim holds, or its opposite.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Final

from model.histories import Isolation
from properties.suites import applications
from properties.suites.applications import ProgramFactory
from reference_impl.simulation.cluster import TOPIC_PARTITION
from reference_impl.simulation.producer import ProducerConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """An application, and who sends to it and reads from it: a condition, or its opposite."""

    says: str
    runs: ProgramFactory
    producer: ProducerConfig = field(default_factory=ProducerConfig)
    is_replaced: bool = True  # an instance may be held up until another has taken over
    is_rewound: bool = False
    has_output: bool = False
    reads: Isolation = "read_committed"  # downstream
    knows_repeats: bool = False  # downstream, by the value


SETTINGS: Final = {
    "position first": Setting(
        says="commits the position, then processes; the producer does not retry",
        runs=applications.position_first,
        producer=ProducerConfig(idempotent=False, retries=False),
    ),
    "position first, the producer retries": Setting(
        says="commits the position, then processes; the producer retries, and is not idempotent",
        runs=applications.position_first,
        producer=ProducerConfig(idempotent=False),
    ),
    "processing first": Setting(
        says="processes, then commits the position; acks=all, retries until acknowledged",
        runs=applications.processing_first,
    ),
    "processing first, no retries": Setting(
        says="processes, then commits the position; the producer does not retry",
        runs=applications.processing_first,
        producer=ProducerConfig(idempotent=False, retries=False),
    ),
    "pipeline": Setting(
        says="output and position in one transaction, which tells the group's generation",
        runs=applications.pipeline,
        has_output=True,
    ),
    "pipeline, a transactional id for each partition": Setting(
        says="output and position in one transaction; who owns the partition has its producer",
        runs=partial(
            applications.pipeline, tells_generation=False, transactional_id=str(TOPIC_PARTITION)
        ),
        has_output=True,
    ),
    "pipeline without generation": Setting(
        says="output and position in one transaction, of a producer that only this process has",
        runs=partial(applications.pipeline, tells_generation=False),
        has_output=True,
    ),
    "pipeline, position apart": Setting(
        says="output in a transaction, then the position",
        runs=applications.producing_apart,
        has_output=True,
    ),
    "pipeline, read uncommitted": Setting(
        says="output and position in one transaction; downstream reads what was aborted too",
        runs=applications.pipeline,
        has_output=True,
        reads="read_uncommitted",
    ),
    "pipeline with a side effect": Setting(
        says="a pipeline that writes to a database while it processes",
        runs=applications.with_side_effect,
        has_output=True,
    ),
    "pipeline with a side effect that is guarded": Setting(
        says="the same with a table of consumed messages",
        runs=partial(applications.with_side_effect, is_guarded=True),
        has_output=True,
    ),
    "position with output": Setting(
        says="output and position in one transaction of a database, if nobody else moved it",
        runs=applications.position_with_output,
    ),
    "position with output, overwritten": Setting(
        says="output and position in one transaction of a database, whoever moved it",
        runs=partial(applications.position_with_output, looks=False),
    ),
    "output, then position": Setting(
        says="output in one database, then the position in another",
        runs=partial(applications.two_databases, output_first=True),
        is_replaced=False,
    ),
    "position, then output": Setting(
        says="the position in one database, then the output in another",
        runs=partial(applications.two_databases, output_first=False),
        is_replaced=False,
    ),
    "two-phase commit": Setting(
        says="output prepared in one database, decided by the position in another",
        runs=applications.two_phase_commit,
        is_replaced=False,
    ),
    "commits in poll": Setting(
        says="the client commits in a poll what earlier polls gave (the Java client's default)",
        runs=applications.committing_in_poll,
    ),
    "commits behind": Setting(
        says="a thread of the client commits what the application was given (librdkafka's default)",
        runs=applications.committing_behind,
    ),
    "commits in poll, processed elsewhere": Setting(
        says="the same as in poll, but processing ends after the next poll",
        runs=applications.handing_over,
    ),
    "commits in poll, from the latest": Setting(
        says="the same as in poll, in a group that begins at the end of the log",
        runs=partial(applications.committing_in_poll, offset_reset="latest"),
    ),
    "rewinds": Setting(
        says="seeks back when it is told to",
        runs=applications.rewinding,
        is_rewound=True,
    ),
    "rewinds by a commit": Setting(
        says="commits an older offset when it is told to go back, and reads on",
        runs=partial(applications.rewinding, by_commit=True),
        is_rewound=True,
    ),
    "consumed table": Setting(
        says="effect and consumed-messages table in one transaction, then the position",
        runs=applications.idempotent_consumer,
        producer=ProducerConfig(idempotent=False),
    ),
    "consumed table apart": Setting(
        says="a consumed-messages table in a transaction of its own",
        runs=applications.noting_apart,
    ),
    "database, then Kafka": Setting(
        says="the transaction of the database is committed, then that of Kafka",
        runs=applications.database_then_kafka,
        has_output=True,
    ),
    "database, then Kafka, idempotent": Setting(
        says="the same with a consumed-messages table, and the result is sent again",
        runs=partial(applications.database_then_kafka, is_idempotent=True),
        has_output=True,
    ),
    "database, then Kafka, known messages dropped": Setting(
        says="the same with a consumed-messages table, and nothing is sent for a known message",
        runs=partial(applications.database_then_kafka, is_idempotent=True, drops_known=True),
        has_output=True,
    ),
    "Kafka, then database": Setting(
        says="the transaction of Kafka is committed, then that of the database",
        runs=applications.kafka_then_database,
        has_output=True,
    ),
    "Kafka, then database, idempotent": Setting(
        says="the same, read again from the database's position; downstream knows repeats too",
        runs=partial(applications.kafka_then_database, repairs=True),
        has_output=True,
        knows_repeats=True,
    ),
}
