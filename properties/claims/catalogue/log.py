"""The claims about the order and the offsets of a partition's log."""

from __future__ import annotations

from typing import Final

from model.releases import LATEST, kafka
from properties.claims.claim import Claim, Decider

LOG: Final = (
    Claim(
        id="append_order",
        group="log",
        statement=(
            "Records that one producer sends to one partition are appended in the order in which "
            "they were sent."
        ),
        condition=(
            "The producer has at most one request in flight, does not retry, or is idempotent; on "
            "Kafka up to 4.3 an idempotent producer with several in flight must also give up when "
            "a batch is out of order, and not send all of them again under a new epoch."
        ),
        broken_by=(
            "With several requests in flight, retries and no idempotence, a retried batch is "
            "appended after its successor."
        ),
        source="docs/sources.md DOC3",
        in_force=kafka(
            "0.8",
            LATEST,
            "idempotent producers since 0.11, with several requests in flight since 1.0",
        ),
        decided_by=(
            Decider("suite", "replication"),
            Decider("model", "idempotence.as_it_was_sent"),
        ),
    ),
    Claim(
        id="consumer_order",
        group="log",
        statement="One consumer instance receives the records of a partition in log order.",
        broken_by="Two readers that take turns are not one instance: they have two positions.",
        source="docs/sources.md DOC3",
        in_force=kafka("0.8", LATEST),
        decided_by=(Decider("suite", "log"),),
    ),
    Claim(
        id="order_is_per_partition",
        group="log",
        statement="There is no order across the partitions of a topic.",
        broken_by="The topic has one partition, and so one order.",
        source="docs/sources.md DOC3",
        in_force=kafka("0.8", LATEST),
        decided_by=(Decider("suite", "log"),),
    ),
    Claim(
        id="offset_identifies",
        group="log",
        statement=(
            "(topic, partition, offset) identifies one record forever: offsets are unique, "
            "immutable and monotone."
        ),
        condition=(
            "The record is committed; an uncommitted suffix or an unclean election reuses "
            "offsets, and a recreated topic starts again at offset 0."
        ),
        broken_by="With acks=1 an offset that was lost with its leader is assigned again.",
        source="docs/sources.md DOC3",
        in_force=kafka("0.8", LATEST),
        decided_by=(
            Decider("suite", "replication"),
            Decider("history", "inconsistent-offsets"),
        ),
    ),
    Claim(
        id="linearizable_offsets",
        group="log",
        statement=(
            "A partition is a linearizable log: the offsets of acknowledged sends agree with real"
            " time, and a read that starts after an acknowledgement sees at least that offset."
        ),
        condition=(
            "acks=all and read_uncommitted, at a leader that reaches the controller (nothing "
            "stops one that does not from returning an old end offset); a read is a poll up to "
            "the end offset, because a new leader returns empty fetches and refuses end offsets "
            "until its high watermark catches up."
        ),
        broken_by=(
            "A deposed leader that has not learnt of its successor returns an old end offset."
        ),
        source="Herlihy and Wing",
        in_force=kafka("2.2", LATEST, "a new leader returns old end offsets before"),
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
        broken_by="The record at the offset was deleted, or it was acknowledged but never kept.",
        source="docs/sources.md DOC3",
        in_force=kafka("0.8", LATEST),
        decided_by=(Decider("suite", "log"),),
    ),
    Claim(
        id="two_writers_two_readers",
        group="log",
        statement=(
            "With two producers or two consumers on one partition, each producer's and each "
            "consumer's own order holds, but records of two producers may change places and two "
            "consumers may be at different offsets."
        ),
        broken_by="With one producer and one consumer there is one order of each.",
        source="docs/sources.md DOC3",
        in_force=kafka("0.8", LATEST),
        decided_by=(Decider("suite", "log"),),
    ),
    Claim(
        id="retention_loses",
        group="log",
        statement=(
            "A consumer that is away for longer than the retention may miss deleted records; one "
            "that is away for less resumes at its position and misses none."
        ),
        condition=(
            "The retention limit is a time, the producer's clock is right, the consumer had read "
            "to the end before it left, and its group was not empty for longer than "
            "offsets.retention.minutes."
        ),
        broken_by=(
            "The consumer is away for longer than the limit, or retention.bytes deletes the "
            "oldest segments at any age."
        ),
        source="docs/sources.md DOC3",
        in_force=kafka("2.1", LATEST, "committed offsets expire in groups with members before"),
        decided_by=(Decider("suite", "retention"),),
    ),
)
