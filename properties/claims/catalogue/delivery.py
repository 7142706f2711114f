"""The claims about delivery guarantees, as producers and consumers see them."""

from __future__ import annotations

from typing import Final

from model.releases import LATEST, kafka
from properties.claims.claim import Claim, Decider

DELIVERY: Final = (
    Claim(
        id="at_most_once",
        group="delivery",
        statement=(
            "If the consumer commits its position before it processes, and the producer does not "
            "retry, no message is processed twice, although one may be lost."
        ),
        broken_by=(
            "The consumer dies after processing and before the commit, or the producer retries "
            "without idempotence."
        ),
        source="docs/sources.md DOC0, DOC1, DOC3",
        in_force=kafka("0.8", LATEST),
        decided_by=(Decider("suite", "delivery"),),
    ),
    Claim(
        id="at_least_once",
        group="delivery",
        statement=(
            "If the producer retries until acks=all is acknowledged, and the consumer processes "
            "before it commits its position, no message is lost, although one may be processed "
            "twice."
        ),
        broken_by=(
            "The consumer dies after the commit and before processing, or the producer does not "
            "retry."
        ),
        source="docs/sources.md DOC0, DOC1, DOC3",
        in_force=kafka("0.8", LATEST),
        decided_by=(Decider("suite", "delivery"),),
    ),
    Claim(
        id="exactly_once_publish",
        group="delivery",
        statement=(
            "An idempotent producer that retries until it is acknowledged writes each message to "
            "the log exactly once, even if brokers fail."
        ),
        condition=(
            "One producer session with acks=all, no unclean election, and retries that end before "
            "producer.id.expiration.ms has passed since the timestamp of the record, which the "
            "client may choose; a restarted producer without a transactional id is a new "
            "session. On Kafka up to 4.3 also one batch in flight "
            "(max.in.flight.requests.per.connection=1), or a client that gives up when a batch is "
            "out of order: a leader that restarts knows only a producer's newest batch, a leader "
            "that knows none accepts any first one, and Kafka's client then sends all batches in "
            "flight again under a new epoch."
        ),
        broken_by=(
            "The leader loses its deduplication state, or restores only a part of it, so the retry "
            "after a lost response is appended again."
        ),
        source="docs/sources.md DOC0, DOC1",
        in_force=kafka("0.11", LATEST, "with several batches in flight since 1.0"),
        decided_by=(
            Decider("suite", "replication"),
            Decider("model", "idempotence.at_most_once"),
            Decider("proof", "idempotence-abstract.in_order_without_duplicates"),
            Decider("history", "duplicate"),
        ),
    ),
    Claim(
        id="exactly_once_pipeline",
        group="delivery",
        statement=(
            "If an application consumes, processes and produces in one transaction that also "
            "commits its input offsets, a read_committed reader of the output sees each result "
            "exactly once, however often the input was processed."
        ),
        condition=(
            "Offset commits carry the group's generation (KIP-447), or each input partition has "
            "its own transactional id; otherwise a zombie commits its results again."
        ),
        broken_by=(
            "A zombie commits offsets without a generation, the position is committed outside the"
            " transaction, or the reader of the output uses read_uncommitted."
        ),
        source="docs/sources.md DOC2",
        in_force=kafka("0.11", LATEST, "with one transactional id for many partitions since 2.5"),
        decided_by=(
            Decider("suite", "delivery"),
            Decider("proof", "pipeline-abstract.each_input_at_most_once"),
            Decider("proof", "pipeline-abstract.position_is_exact"),
            Decider("history", "input-processed-twice"),
            Decider("history", "input-skipped"),
            Decider("history", "output-without-offset"),
            Decider("history", "offset-without-output"),
        ),
    ),
    Claim(
        id="exactly_once_external",
        group="delivery",
        statement=(
            "A consumer that stores its output and its position in one atomic store loses and "
            "repeats nothing (the ETL-into-HDFS pattern, here with an SQL database)."
        ),
        broken_by=(
            "The position is in another store than the output, or a zombie overwrites the "
            "position without checking it."
        ),
        source="docs/sources.md DOC0, DOC3",
        in_force=kafka("0.9", LATEST),
        decided_by=(Decider("suite", "delivery"),),
    ),
    Claim(
        id="two_phase_commit",
        group="delivery",
        statement=(
            "If a consumer writes its output and its position to two stores with a two-phase "
            "commit, a crash between the two writes neither loses nor repeats a message."
        ),
        broken_by=(
            "The two writes have neither an atomic commitment nor an idempotent output: writing "
            "the output first repeats a message, writing the position first loses one."
        ),
        source="docs/sources.md DOC0",
        in_force=kafka("0.9", LATEST),
        decided_by=(Decider("suite", "delivery"),),
    ),
    Claim(
        id="default_is_at_least_once",
        group="delivery",
        statement="A client with default settings processes every message at least once.",
        condition=(
            "Each client library with its own defaults: processing ends before the next poll, the"
            " group has a committed position (auto.offset.reset=latest skips earlier records), "
            "and a send that fails after delivery.timeout.ms is reported instead of retried."
        ),
        broken_by=(
            "The client commits records when it hands them to the application (librdkafka), the "
            "application polls again before it has processed, or the group starts at the latest "
            "offset."
        ),
        source="docs/sources.md DOC0, DOC3",
        in_force=kafka("3.0", LATEST, "acks=all is not the default before"),
        decided_by=(Decider("suite", "delivery"),),
    ),
    Claim(
        id="ambiguous_send",
        group="delivery",
        statement=(
            "After a network error a producer cannot know whether its record was committed: both "
            "outcomes occur."
        ),
        broken_by="A producer that retries until it is acknowledged learns the outcome.",
        source="docs/sources.md DOC0, DOC1",
        in_force=kafka("0.8", LATEST),
        decided_by=(Decider("suite", "replication"),),
    ),
    Claim(
        id="retry_duplicates",
        group="delivery",
        statement=(
            "A producer without idempotence that retries after a lost acknowledgement writes the "
            "record twice."
        ),
        broken_by=(
            "The producer is idempotent: the leader recognizes the retry by its sequence number."
        ),
        source="docs/sources.md DOC1",
        in_force=kafka("0.8", LATEST),
        decided_by=(Decider("suite", "replication"),),
    ),
    Claim(
        id="no_retry_loses",
        group="delivery",
        statement="A producer that does not retry may lose a record.",
        broken_by="The producer retries until it is acknowledged, so a lost request is sent again.",
        source="docs/sources.md DOC1",
        in_force=kafka("0.8", LATEST),
        decided_by=(Decider("suite", "replication"),),
    ),
    Claim(
        id="rewind_redelivers",
        group="delivery",
        statement=(
            "A consumer that seeks to an older offset receives every record from that offset "
            "again, so exactly-once processing needs the co-operation of the application."
        ),
        broken_by="The older offset is committed, but the running consumer does not seek to it.",
        source="docs/sources.md DOC1",
        in_force=kafka("0.9", LATEST),
        decided_by=(Decider("suite", "delivery"),),
    ),
    Claim(
        id="side_effects_repeat",
        group="delivery",
        statement=(
            "Side effects of processing inside a Kafka transaction (calls, database writes) can "
            "happen more than once."
        ),
        broken_by="A consumed-messages table shows that the side effect has already happened.",
        source="docs/sources.md DOC2",
        in_force=kafka("0.11", LATEST),
        decided_by=(Decider("suite", "delivery"),),
    ),
    Claim(
        id="idempotent_consumer",
        group="delivery",
        statement=(
            "If a consumed-messages table is written in the same database transaction as the "
            "effect, a redelivered message has no second effect."
        ),
        broken_by=(
            "There is no consumed-messages table, or it is written in a separate transaction."
        ),
        source="docs/sources.md DOC0, DOC2",
        in_force=kafka("0.8", LATEST),
        decided_by=(Decider("suite", "delivery"),),
    ),
    Claim(
        id="kafka_and_database_not_atomic",
        group="delivery",
        statement=(
            "A Kafka transaction and a database transaction are not atomic together: a crash "
            "between the two commits, in either order, makes the two inconsistent until an "
            "idempotent consumer repairs them."
        ),
        broken_by=(
            "Without an idempotent consumer the message is in the database twice if the database "
            "commits first, and not at all if Kafka commits first."
        ),
        source="docs/sources.md DOC2",
        in_force=kafka("0.11", LATEST),
        decided_by=(Decider("suite", "delivery"),),
    ),
)
