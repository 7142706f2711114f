"""The claims: every guarantee and every warning of Kafka's documents, as data.

A claim that is true only under a condition is decided on both sides of it: it holds inside, and
outside a counterexample is shown. Claims with no decider are listed too: they are promises that
nothing here decides yet.

Source: D0 "message delivery semantics" (Kafka design), D1 "How Kafka does exactly-once", D2 "Kafka
transactions: exactly-once messaging", D3 "Kafka design"; "docs" is the design chapter of Kafka's
documentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Engine = Literal["model", "proof", "suite", "history"]
Group = Literal["delivery", "log", "replication", "transactions", "groups", "cost"]


@dataclass(frozen=True, slots=True)
class Decider:
    """An engine, and the name under which it decides: a suite, an anomaly, or `spec.property`."""

    engine: Engine
    name: str

    def __str__(self) -> str:
        return f"{self.engine} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One promise: where it holds, what breaks it outside, and what decides it."""

    id: str
    group: Group
    statement: str
    condition: str = ""
    broken_by: str = ""
    source: str
    decided_by: tuple[Decider, ...] = ()
    explained: str = ""  # why no run decides it inside its condition, or outside


CLAIMS: Final = (
    Claim(
        id="at_most_once",
        group="delivery",
        statement=(
            "Commit the position before processing and disable producer retries: a message may be"
            " lost, it is never processed twice."
        ),
        broken_by=(
            "It dies between processing and the commit; or the producer retries without "
            "idempotence."
        ),
        source="D0 D1 D3",
        decided_by=(Decider("suite", "delivery"),),
    ),
    Claim(
        id="at_least_once",
        group="delivery",
        statement=(
            "Retry until acknowledged (acks=all), process before committing the position: no "
            "message is lost, some may be processed twice."
        ),
        broken_by="It dies between the commit and processing; or the producer does not retry.",
        source="D0 D1 D3",
        decided_by=(Decider("suite", "delivery"),),
    ),
    Claim(
        id="exactly_once_publish",
        group="delivery",
        statement=(
            "An idempotent producer that retries until acknowledged publishes each message once, "
            "also through broker failure."
        ),
        condition=(
            "One producer session; acks=all, no unclean election, retries end before "
            "producer.id.expiration.ms. A restarted producer without a transactional id is a new "
            "one."
        ),
        broken_by=(
            "The leader forgets its deduplication: the retry after a lost response is appended "
            "again."
        ),
        source="D0 D1",
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
            "Consume, process, produce in a transaction that carries the input offsets: a "
            "read_committed reader downstream sees each result once, however often the input was "
            "processed."
        ),
        condition=(
            "Offset commits carry the group's generation, KIP-447, or each input partition has "
            "its own transactional id: without either a zombie repeats."
        ),
        broken_by=(
            "A zombie commits offsets without a generation; position and output are committed "
            "apart; downstream reads uncommitted records."
        ),
        source="D2",
        decided_by=(
            Decider("suite", "delivery"),
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
            "A consumer that stores its position in the same atomic store as its output loses and"
            " repeats nothing (the ETL-into-HDFS pattern; here a real SQL database)."
        ),
        broken_by="The position lies in another store; or a zombie overwrites it without a look.",
        source="D0 D3",
        decided_by=(Decider("suite", "delivery"),),
    ),
    Claim(
        id="two_phase_commit",
        group="delivery",
        statement=(
            "With output and position in two stores and neither atomic commitment between them "
            "nor idempotent output, a crash between the two writes shows a loss or a repeat, by "
            "their order; two-phase commit removes both."
        ),
        broken_by=(
            "Neither atomic commitment nor idempotent output: output first repeats, position "
            "first loses."
        ),
        source="D0",
        decided_by=(Decider("suite", "delivery"),),
    ),
    Claim(
        id="default_is_at_least_once",
        group="delivery",
        statement="Default client settings give at-least-once.",
        condition=(
            "Decided for each client library with its own defaults; one that breaks it is a "
            "result, not an error. Processing ends before the next poll; the group has a "
            "committed position: auto.offset.reset=latest skips what came before the first "
            "commit; a send that fails for good after delivery.timeout.ms is reported, not "
            "retried."
        ),
        broken_by=(
            "librdkafka commits what the application was given before it is processed; the next "
            "poll comes before processing ends; a group begins at the latest offset."
        ),
        source="D0 D3",
        decided_by=(Decider("suite", "delivery"),),
    ),
    Claim(
        id="ambiguous_send",
        group="delivery",
        statement=(
            "After a network error a producer can't know whether the record was committed; both "
            "outcomes occur."
        ),
        source="D0 D1",
        decided_by=(Decider("suite", "replication"),),
    ),
    Claim(
        id="retry_duplicates",
        group="delivery",
        statement=(
            "A non-idempotent producer that retries after a lost acknowledgement writes the "
            "record twice."
        ),
        broken_by="An idempotent producer's retry is known by its sequence number.",
        source="D1",
        decided_by=(Decider("suite", "replication"),),
    ),
    Claim(
        id="no_retry_loses",
        group="delivery",
        statement="A producer that doesn't retry may lose the record.",
        broken_by="Retries until acknowledged send again what was lost.",
        source="D1",
        decided_by=(Decider("suite", "replication"),),
    ),
    Claim(
        id="rewind_redelivers",
        group="delivery",
        statement=(
            "Rewinding a consumer redelivers every record from that offset on; exactly-once needs"
            " the application's co-operation."
        ),
        broken_by="An older offset is committed and the consumer is not taken back to it.",
        source="D1",
        decided_by=(Decider("suite", "delivery"),),
    ),
    Claim(
        id="side_effects_repeat",
        group="delivery",
        statement=(
            "Side effects of processing (calls, database writes) inside a Kafka transaction can "
            "happen more than once."
        ),
        broken_by="A consumed-messages table knows that the effect is there.",
        source="D2",
        decided_by=(Decider("suite", "delivery"),),
    ),
    Claim(
        id="idempotent_consumer",
        group="delivery",
        statement=(
            "A consumed-messages table written in the same database transaction as the effect "
            "makes redelivery harmless."
        ),
        broken_by="No consumed-messages table, or one in a transaction of its own.",
        source="D0 D2",
        decided_by=(Decider("suite", "delivery"),),
    ),
    Claim(
        id="kafka_and_database_not_atomic",
        group="delivery",
        statement=(
            "A Kafka transaction and a database transaction are two transactions: each crash "
            "window between the two commits, in both orders, leaves the stated inconsistency, "
            "which the idempotent consumer repairs."
        ),
        broken_by=(
            "Without an idempotent consumer: twice in the database if that commits first, not "
            "there at all if Kafka does."
        ),
        source="D2",
        decided_by=(Decider("suite", "delivery"),),
    ),
    Claim(
        id="append_order",
        group="log",
        statement=(
            "Records that one producer sends to one partition are appended in the order sent."
        ),
        condition="Idempotence, or one request in flight, or no retries.",
        broken_by=(
            "Two requests in flight, retries and no idempotence: a retry lands behind its "
            "successor."
        ),
        source="D3",
        decided_by=(
            Decider("suite", "replication"),
            Decider("model", "idempotence.as_it_was_sent"),
        ),
    ),
    Claim(
        id="consumer_order",
        group="log",
        statement="One consumer instance sees records in log order.",
        broken_by="Two readers that take turns are not one instance: they have two positions.",
        source="D3",
        decided_by=(Decider("suite", "log"),),
    ),
    Claim(
        id="order_is_per_partition",
        group="log",
        statement="There is no order across the partitions of a topic.",
        broken_by="One partition has one order.",
        source="D3",
        decided_by=(Decider("suite", "log"),),
    ),
    Claim(
        id="offset_identifies",
        group="log",
        statement=(
            "(topic, partition, offset) identifies one record for ever: offsets are unique, "
            "immutable, monotone."
        ),
        condition=(
            "Committed records; an uncommitted suffix or an unclean election reuses offsets, and "
            "a topic created again starts over."
        ),
        broken_by="With acks=1 an offset that was lost with its leader is given again.",
        source="D3",
        decided_by=(Decider("suite", "replication"), Decider("history", "inconsistent-offsets")),
    ),
    Claim(
        id="linearizable_offsets",
        group="log",
        statement=(
            "Offsets given to acknowledged sends agree with real time, and a read that starts "
            "after an acknowledgement sees at least that far: the partition is a linearizable "
            "log."
        ),
        condition=(
            "acks=all, read at the leader, read_uncommitted. A new leader's high watermark may "
            "lag: until it catches up a fetch comes back empty and the end offset is refused, so "
            "a read is the poll that reaches the end offset, never one empty answer. The leader "
            "hears the controller: nothing stops one that does not from answering an old end."
        ),
        broken_by="A leader that was deposed without hearing of it answers for the end of its log.",
        source="mission",
        decided_by=(
            Decider("suite", "replication"),
            Decider("history", "offset-order-inversion"),
            Decider("history", "stale-end-offset"),
        ),
    ),
    Claim(
        id="any_offset_readable",
        group="log",
        statement=(
            "A consumer may read from any retained offset, and several consumers read the same "
            "log independently."
        ),
        broken_by=(
            "What was deleted is not retained; an offset that was acknowledged and not kept is "
            "empty."
        ),
        source="D3",
        decided_by=(Decider("suite", "log"),),
    ),
    Claim(
        id="two_writers_two_readers",
        group="log",
        statement=(
            "With two producers or two consumers on one partition the per-producer and "
            'per-consumer orders still hold, and exactly the guarantees that D3 calls "off" are'
            " off: show which."
        ),
        broken_by="With one writer and one reader there is one order of each.",
        source="D3",
        decided_by=(Decider("suite", "log"),),
    ),
    Claim(
        id="retention_loses",
        group="log",
        statement=(
            "A consumer away for longer than the retention may lose records (whole closed "
            "segments go, so later than the limit, never before it); one away for less resumes at"
            " its position, unless the group stood empty longer than offsets.retention.minutes: "
            "then the position itself is gone."
        ),
        condition=(
            "The limit is one of time, the producer's clock is right, and the reader had read to "
            "the end when it left."
        ),
        broken_by=(
            "It stays away for longer than the limit; or the log has a limit of bytes, at which "
            "the oldest segments go at any age."
        ),
        source="D3",
        decided_by=(Decider("suite", "retention"),),
    ),
    Claim(
        id="committed_definition",
        group="replication",
        statement=(
            "A record is committed when every in-sync replica has it (since Kafka 3.7: and at "
            "least min.insync.replicas are in sync)."
        ),
        broken_by=(
            "A member of the set cuts its log to its own high watermark; or the high watermark "
            "moves though too few are in sync."
        ),
        source="D3",
        decided_by=(
            Decider("suite", "elections"),
            Decider("model", "replication.strong_isr"),
        ),
    ),
    Claim(
        id="committed_survives",
        group="replication",
        statement="A committed record isn't lost while one in-sync replica lives.",
        broken_by=(
            "A replica truncates to its high watermark, or a send is acknowledged before it is "
            "replicated."
        ),
        source="D0 D3",
        decided_by=(
            Decider("suite", "replication"),
            Decider("model", "replication.strong_isr"),
        ),
    ),
    Claim(
        id="identical_replicas",
        group="replication",
        statement=(
            "All replicas have the same records at the same offsets, up to what is committed."
        ),
        condition=(
            "Each cleans and deletes on its own: compare the offsets that both still hold, at or "
            "above both log starts."
        ),
        broken_by=(
            "Where whoever lives may lead, a replica that was away comes back with records that"
            " others took the place of."
        ),
        source="D0 D3",
        decided_by=(
            Decider("suite", "elections"),
            Decider("model", "replication.weak_isr"),
        ),
    ),
    Claim(
        id="reads_are_committed",
        group="replication",
        statement="Consumers read committed records only.",
        broken_by="A leader gives out what is above its high watermark, and dies.",
        source="D3",
        decided_by=(Decider("suite", "replication"),),
    ),
    Claim(
        id="acks_levels",
        group="replication",
        statement=(
            "acks=0, 1, all: what each can lose when a broker fails, and that acks=all with "
            "min.insync.replicas loses nothing committed."
        ),
        broken_by="With acks=all what is acknowledged is replicated: nothing is lost.",
        source="D0 D3",
        decided_by=(Decider("suite", "replication"),),
    ),
    Claim(
        id="isr_shrinks",
        group="replication",
        statement=(
            "A failed replica leaves the in-sync set; the set may shrink to the leader alone, "
            "which then commits alone (min.insync.replicas=1, or Kafka before 3.7; otherwise the "
            "high watermark stops)."
        ),
        broken_by="With min.insync.replicas=2 the leader that is left alone commits nothing.",
        source="D3",
        decided_by=(Decider("suite", "elections"),),
    ),
    Claim(
        id="min_isr_refuses",
        group="replication",
        statement=(
            "acks=all with fewer than min.insync.replicas in sync is refused, not weakly "
            "accepted: availability is given up, not durability."
        ),
        broken_by=(
            "A leader acknowledges before its followers have the record, or does not look how "
            "many are in sync."
        ),
        source="docs",
        decided_by=(Decider("suite", "elections"),),
    ),
    Claim(
        id="survives_f_failures",
        group="replication",
        statement=(
            "With f+1 replicas, all in sync, a committed record survives f failures; a set that "
            "had shrunk survives fewer and then waits for its last member (wait_for_last_leader)."
        ),
        broken_by="All f+1 machines lose power before anything was flushed.",
        source="docs",
        decided_by=(Decider("suite", "elections"),),
    ),
    Claim(
        id="clean_election",
        group="replication",
        statement=(
            "When the leader fails and an in-sync replica lives, it becomes leader, clients see "
            "retriable errors, and nothing acknowledged with acks=all is lost."
        ),
        broken_by="Where whoever lives may lead, another is elected and what it lacks is lost.",
        source="D3",
        decided_by=(Decider("suite", "elections"),),
    ),
    Claim(
        id="wait_for_last_leader",
        group="replication",
        statement=(
            "All replicas down, wait for the last in-sync one: unavailable, but nothing is lost, "
            "if it comes back with its whole log (a lost unflushed tail is lost here: KIP-966)."
        ),
        broken_by=(
            "Nobody waits where whoever lives may lead; and a machine that lost power comes "
            "back without its end."
        ),
        source="D3",
        decided_by=(Decider("suite", "elections"),),
    ),
    Claim(
        id="unclean_election",
        group="replication",
        statement=(
            "All replicas down, first one back leads: records written in between are lost and "
            "other replicas drop theirs."
        ),
        broken_by="With clean elections only, everybody waits for the last in sync.",
        source="D3",
        decided_by=(Decider("suite", "elections"),),
    ),
    Claim(
        id="writes_to_leader",
        group="replication",
        statement=(
            "All writes of a partition, and by default all reads (KIP-392 lets a consumer read a "
            "follower, up to that follower's high watermark), go through one leader; what only a "
            "stale leader acknowledged (acks=1) isn't committed."
        ),
        broken_by="Where whoever lives may lead, what was committed is replaced.",
        source="D3",
        decided_by=(Decider("suite", "elections"),),
    ),
    Claim(
        id="atomic_commit",
        group="transactions",
        statement=(
            "Outputs to several partitions and the input offsets become visible together or not "
            "at all."
        ),
        condition=(
            "All of them in the end, never at one instant: each partition shows its part when its"
            " own marker is committed."
        ),
        broken_by="In V1 a late EndTxn ends the next transaction (KAFKA-17754).",
        source="D2",
        decided_by=(
            Decider("suite", "transactions"),
            Decider("proof", "transactions-abstract.atomic"),
            Decider("proof", "transactions-abstract.faithful"),
            Decider("model", "transactions.atomic"),
            Decider("model", "transactions.no_torn_read"),
            Decider("history", "torn-transaction"),
            Decider("history", "output-without-offset"),
            Decider("history", "offset-without-output"),
        ),
    ),
    Claim(
        id="transactional_implies_idempotent",
        group="transactions",
        statement="Setting a transactional id makes the producer idempotent.",
        broken_by="A leader that appends a retry again.",
        source="D2",
        decided_by=(Decider("suite", "transactions"),),
    ),
    Claim(
        id="read_committed_waits",
        group="transactions",
        statement=(
            "A read_committed consumer doesn't get a transactional record before its commit "
            "marker, never an aborted one, and is held at the first open transaction, "
            "non-transactional records behind it included."
        ),
        broken_by="A reader at read_uncommitted, or a last stable offset that is too high.",
        source="D2",
        decided_by=(
            Decider("suite", "transactions"),
            Decider("model", "transactions.no_aborted_read"),
            Decider("model", "transactions.aborted_index_is_exact"),
            Decider("history", "open-transaction-read"),
            Decider("history", "G1a"),
        ),
    ),
    Claim(
        id="read_uncommitted_sees_aborted",
        group="transactions",
        statement=(
            "The default isolation level delivers transactional records at once, also those "
            "aborted later."
        ),
        broken_by="A reader at read_committed waits.",
        source="D2",
        decided_by=(Decider("suite", "transactions"),),
    ),
    Claim(
        id="coordinator_log_is_replicated",
        group="transactions",
        statement=(
            "The coordinator's state survives the loss of a broker when its log is replicated "
            "over three brokers, and not when it has one replica."
        ),
        broken_by="The one broker that had the coordinator's log loses its disk.",
        source="D2",
        decided_by=(Decider("suite", "transactions"),),
    ),
    Claim(
        id="offsets_in_transaction",
        group="transactions",
        statement=(
            "Offsets sent by the producer to the group coordinator stay pending until the "
            "transaction ends, then take effect or vanish."
        ),
        broken_by="A group coordinator that keeps what was aborted, or drops what was not.",
        source="D2",
        decided_by=(
            Decider("suite", "transactions"),
            Decider("history", "aborted-offset-read"),
            Decider("history", "group-offset-went-backwards"),
        ),
    ),
    Claim(
        id="retry_resumes",
        group="transactions",
        statement=(
            "A restarted service with the same transactional id finds the open transaction, which"
            " is completed or aborted once; the old instance is fenced."
        ),
        broken_by="A new instance is given the epoch of the old one.",
        source="D2",
        decided_by=(
            Decider("suite", "transactions"),
            Decider("model", "transactions.zombies_write_nothing"),
            Decider("history", "zombie-write"),
            Decider("history", "fenced-transaction-read"),
        ),
    ),
    Claim(
        id="timeout_aborts",
        group="transactions",
        statement=(
            "A transaction that outlives its timeout is aborted: aborted in the transaction log, "
            "abort markers in the partitions."
        ),
        broken_by="In V1 without verification a late record opens what nobody ends.",
        source="D2",
        decided_by=(
            Decider("suite", "transactions"),
            Decider("model", "transactions.open_transactions_close"),
        ),
    ),
    Claim(
        id="writes_may_repeat_before_commit",
        group="transactions",
        statement=(
            "Records may be written several times before one commit; only read_committed readers "
            "see them once."
        ),
        broken_by="A reader at read_uncommitted is given each of them.",
        source="D2",
        decided_by=(Decider("suite", "transactions"),),
    ),
    Claim(
        id="one_owner",
        group="groups",
        statement=(
            "Inside a group each partition has one owner at a time, by generation or member "
            "epoch; the group as a whole reads every partition."
        ),
        condition=(
            "Not by the clock: a member that missed the rebalance may go on processing, its "
            "commits are refused."
        ),
        source="D3",
        decided_by=(Decider("suite", "groups"),),
    ),
    Claim(
        id="idle_members",
        group="groups",
        statement=(
            "With more members than partitions some are idle; with fewer, members own several; "
            "with as many, each owns one."
        ),
        source="D3",
        decided_by=(Decider("suite", "groups"),),
    ),
    Claim(
        id="position_resumes",
        group="groups",
        statement="After a failure the new owner resumes at the committed position.",
        source="D0 D3",
        decided_by=(
            Decider("suite", "groups"),
            Decider("history", "group-offset-went-backwards"),
            Decider("history", "group-offset-moved-without-commit"),
        ),
    ),
    Claim(
        id="exactly_once_costs",
        group="cost",
        statement=(
            "Transactions and per-record offset commits cost throughput: measured, at several "
            "transaction sizes, against at-least-once on the same broker."
        ),
        condition="A benchmark, never an exit code.",
        source="D3",
        explained="A cost is measured; it neither holds nor fails, so no run decides it.",
    ),
)

BY_ID: Final = {claim.id: claim for claim in CLAIMS}
