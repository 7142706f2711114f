"""The expected verdicts of the suite `delivery`.

An expected verdict states that a claim holds in a setting, or that some run in the setting breaks
the claim. The module `suite` explains the details.
"""

from __future__ import annotations

from typing import Final

from properties.suites.delivery.rules import DeliveryMachine
from properties.suites.delivery.settings import SETTINGS
from properties.suites.suite import Side, Suite, inside, outside
from reference_impl.node.bugs import Bug


def _holds(claim: str, setting: str) -> Side:
    return inside(claim, setting, SETTINGS[setting].condition)


SUITE: Final = Suite(
    name="delivery",
    summary="consumer applications with a database, killed and paused at every step",
    machine=DeliveryMachine,
    share_of_runs=0.2,
    share_of_rules=0.5,
    inside=(
        _holds("at_most_once", "position first"),
        _holds("at_least_once", "processing first"),
        _holds("exactly_once_pipeline", "pipeline"),
        _holds("exactly_once_pipeline", "pipeline, a transactional id for each partition"),
        _holds("exactly_once_external", "position with output"),
        _holds("at_least_once", "output, then position"),
        _holds("at_most_once", "position, then output"),
        _holds("two_phase_commit", "two-phase commit"),
        _holds("default_is_at_least_once", "commits in poll"),
        _holds("rewind_redelivers", "rewinds"),
        _holds("idempotent_consumer", "consumed table"),
        _holds("kafka_and_database_not_atomic", "database, then Kafka, idempotent"),
        _holds("kafka_and_database_not_atomic", "Kafka, then database, idempotent"),
        _holds("side_effects_repeat", "pipeline with a side effect"),
    ),
    outside=(
        outside("at_most_once", "processing first", "it dies before it commits the position"),
        outside(
            "at_most_once",
            "position first, the producer retries",
            "the retry is another record, which is processed too",
        ),
        outside(
            "at_least_once", "position first", "it dies after the commit and before processing"
        ),
        outside(
            "at_least_once", "processing first, no retries", "a lost request is not sent again"
        ),
        outside(
            "exactly_once_pipeline",
            "pipeline without generation",
            "a zombie's transaction is committed: nothing distinguishes it from the owner's",
        ),
        outside(
            "exactly_once_pipeline",
            "pipeline, position apart",
            "it dies between the output and the position",
        ),
        outside(
            "exactly_once_pipeline",
            "pipeline, read uncommitted",
            "records of aborted transactions are read too",
        ),
        outside(
            "exactly_once_pipeline",
            "pipeline",
            "a zombie's offsets are accepted",
            Bug.GENERATION_NOT_CHECKED,
        ),
        outside(
            "exactly_once_pipeline",
            "pipeline",
            "the position advances, but the output is aborted",
            Bug.OFFSETS_DESPITE_ABORT,
        ),
        outside(
            "exactly_once_pipeline",
            "pipeline",
            "the output is committed, but the position is not",
            Bug.OFFSETS_LOST_AT_COMMIT,
        ),
        outside(
            "exactly_once_external",
            "position with output, overwritten",
            "a zombie stores the output that its successor has stored",
        ),
        outside("exactly_once_external", "processing first", "the position is in another store"),
        outside("exactly_once_external", "position first", "the position is in another store"),
        outside("two_phase_commit", "output, then position", "it dies in between: a repeat"),
        outside("two_phase_commit", "position, then output", "it dies in between: a loss"),
        outside(
            "default_is_at_least_once",
            "commits behind",
            "a record is committed before it is processed; then the application dies",
        ),
        outside(
            "default_is_at_least_once",
            "commits in poll, processed elsewhere",
            "the next poll commits an unprocessed record; then the application dies",
        ),
        outside(
            "default_is_at_least_once",
            "commits in poll, from the latest",
            "records before the first commit of the group are skipped",
        ),
        outside("rewind_redelivers", "rewinds by a commit", "the running consumer does not move"),
        outside(
            "idempotent_consumer", "processing first", "a redelivered message has a second effect"
        ),
        outside(
            "idempotent_consumer",
            "consumed table apart",
            "it dies between the table and the effect",
        ),
        outside(
            "kafka_and_database_not_atomic",
            "database, then Kafka",
            "it dies in between: twice in the database",
        ),
        outside(
            "kafka_and_database_not_atomic",
            "Kafka, then database",
            "it dies in between: not in the database",
        ),
        outside(
            "kafka_and_database_not_atomic",
            "database, then Kafka, known messages dropped",
            "the result of a consumed message was never sent downstream",
        ),
        outside(
            "side_effects_repeat",
            "pipeline with a side effect that is guarded",
            "the consumed-messages table prevents the second effect",
        ),
    ),
)
