"""Runs the scenarios with kafka-python, a client in pure Python."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Final

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.errors import (
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    UnknownTopicOrPartitionError,
)
from kafka.structs import OffsetAndMetadata

from tools.clients.python.program import Args, await_until, expect, expect_once, run

CODECS: Final = (None, "gzip", "snappy", "lz4", "zstd")


def metadata(args: Args) -> str:
    admin = KafkaAdminClient(bootstrap_servers=args.servers)
    brokers = admin.describe_cluster()["brokers"]
    expect(len(brokers) == 3, f"{len(brokers)} brokers")
    (topic,) = admin.describe_topics([args.topic])
    partitions = topic["partitions"]
    expect(len(partitions) == 3, f"partitions {partitions}")
    expect(all(len(one["replica_nodes"]) == 3 for one in partitions), partitions)
    return ""


def administration(args: Args) -> str:
    admin = KafkaAdminClient(bootstrap_servers=args.servers)
    admin.create_topics([NewTopic(args.topic, 4, 3)])
    (topic,) = admin.describe_topics([args.topic])
    expect(len(topic["partitions"]) == 4, topic)
    admin.delete_topics([args.topic])
    await_until(lambda: args.topic not in admin.list_topics(), "it is listed")
    return ""


def records(args: Args) -> str:
    wanted = [f"{codec}-{number}" for codec in CODECS for number in range(args.records)]
    for codec in CODECS:
        producer = writer(args, enable_idempotence=True, compression_type=codec)
        sent = [
            producer.send(args.topic, f"{codec}-{number}".encode())
            for number in range(args.records)
        ]
        producer.flush(60)
        expect(all(one.succeeded() for one in sent), "a write failed")
        producer.close()
    consumer = member(args)
    seen: list[str] = []
    await_until(lambda: read(consumer, seen) >= len(wanted), "records are missing", 100)
    expect_once(seen, wanted)
    consumer.commit()
    consumer.close()
    expect(committed(args) == len(wanted), f"{committed(args)} of {len(wanted)} committed")
    return ", ".join(str(codec or "none") for codec in CODECS)


def rebalance(args: Args, **settings: Any) -> str:
    first = member(args, **settings)
    await_until(lambda: size_of(first) == 4, "one member has not all partitions")
    second = member(args, **settings)

    def are_shared() -> bool:
        return (size_of(first), size_of(second)) == (2, 2)

    await_until(are_shared, "two members do not share the partitions")
    producer = writer(args)
    wanted = [str(number) for number in range(40)]
    for value in wanted:
        producer.send(args.topic, value.encode(), partition=int(value) % 4)
    producer.flush(10)
    seen: list[str] = []
    await_until(
        lambda: [read(one, seen) for one in (first, second)][1] >= len(wanted), "no records"
    )
    expect_once(seen, wanted)
    first.commit()
    second.commit()
    second.close()
    await_until(lambda: size_of(first) == 4, "the remaining member has not all partitions")
    first.close()
    return ""


def transaction(args: Args) -> str:
    target = f"{args.topic}-out"
    source = writer(args)
    wanted = [str(number) for number in range(12)]
    for value in wanted:
        source.send(args.topic, value.encode(), partition=0)
    source.flush(10)
    producer = transactional(args)
    consumer = member(args, max_poll_records=4)
    place = TopicPartition(args.topic, 0)
    done, is_aborted = 0, False
    while done < len(wanted):
        polled = consumer.poll(1000).get(place, [])
        if not polled:
            continue
        producer.begin_transaction()
        for record in polled:
            producer.send(target, record.value, partition=0)
        producer.flush(20)
        offsets = {place: OffsetAndMetadata(polled[-1].offset + 1, "", -1)}
        producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
        if is_aborted:
            producer.commit_transaction()
            done += len(polled)
        else:
            producer.abort_transaction()
            is_aborted = True
            expect(committed(args) == 0, "the offsets of an aborted transaction are committed")
            consumer.seek(place, polled[0].offset)
    consumer.close()
    expect(committed(args) == len(wanted), f"{committed(args)} committed")
    found = all_values(args, target)
    expect(found == wanted, f"read_committed: {found}")
    return ""


def abort_after_commit(args: Args) -> str:
    producer = transactional(args)
    for number in range(20):
        for word, end in (
            ("kept", producer.commit_transaction),
            ("gone", producer.abort_transaction),
        ):
            producer.begin_transaction()
            producer.send(args.topic, f"{word}-{number}".encode(), partition=0)
            if number % 2:
                producer.flush(20)
            end()
    found = all_values(args, args.topic)
    expect(found == [f"kept-{number}" for number in range(20)], f"read_committed: {found}")
    return ""


def unknown_topic(args: Args) -> str:
    producer = writer(args, max_block_ms=3000)
    try:
        producer.send(args.topic, b"lost").get(10)
        error = None
    except (KafkaTimeoutError, UnknownTopicOrPartitionError) as raised:
        error = raised
    expect(error is not None, "the write was accepted")
    try:
        found = KafkaAdminClient(bootstrap_servers=args.servers).describe_topics([args.topic])
    except UnknownTopicOrPartitionError:
        return f"the write ends with {type(error).__name__}, the admin with the broker's error"
    expect("UNKNOWN_TOPIC" in str(found) or "'error_code': 3" in str(found), found)
    return f"the write ends with {type(error).__name__}, the admin shows the broker's error"


def too_large(args: Args) -> str:
    for topic, size, is_accepted in (
        (args.topic, 900_000, True),
        (args.topic, 1_100_000, False),
        (f"{args.topic}-small", 1_000, True),
        (f"{args.topic}-small", 3_000, False),
        (f"{args.topic}-large", 1_100_000, True),
    ):
        # A refused batch ends an idempotent producer of kafka-python, so each write has its own.
        producer = writer(args, max_request_size=10_000_000)
        error: KafkaError | None = None
        try:
            producer.send(topic, bytes(size)).get(20)
        except KafkaError as raised:
            error = raised
        is_expected = error is None if is_accepted else isinstance(error, MessageSizeTooLargeError)
        expect(is_expected, f"{size} bytes to {topic}: {error!r}")
    return ""


def crash_of_leader(args: Args) -> str:
    producer = writer(args, enable_idempotence=True)
    wanted = [str(number) for number in range(60)]
    for value in wanted:
        producer.send(args.topic, value.encode(), partition=0).get(40)
    found = all_values(args, args.topic)
    expect(found == wanted, f"read: {found}")
    return ""


def crash_of_group_coordinator(args: Args) -> str:
    producer = writer(args)
    wanted = [str(number) for number in range(60)]
    for value in wanted:
        producer.send(args.topic, value.encode(), partition=0)
    producer.flush(10)
    consumer = member(args, max_poll_records=5)
    seen: list[str] = []

    def all_read_and_committed() -> bool:
        read(consumer, seen)
        try:
            consumer.commit()
        except KafkaError:  # the coordinator is down: its successor gets a later commit
            return False
        return len(set(seen)) == len(wanted)

    await_until(all_read_and_committed, "records were not read and committed", 50)
    consumer.close()
    expect(committed(args) == len(wanted), f"{committed(args)} committed")
    return ""


def crash_of_transaction_coordinator(args: Args) -> str:
    producer = transactional(args)
    wanted = [str(number) for number in range(20)]
    for value in wanted:
        producer.begin_transaction()
        producer.send(args.topic, value.encode(), partition=0)
        producer.commit_transaction()
    found = all_values(args, args.topic)
    expect(found == wanted, f"read_committed: {found}")
    return ""


# ---------------------------------------------------------------- what the scenarios use


def writer(args: Args, **settings: Any) -> Any:
    return KafkaProducer(bootstrap_servers=args.servers, **{"linger_ms": 5, **settings})


def transactional(args: Args) -> Any:
    producer = writer(args, transactional_id=args.topic, request_timeout_ms=5_000)
    producer.init_transactions()
    return producer


def member(args: Args, **settings: Any) -> Any:
    return KafkaConsumer(
        args.topic,
        bootstrap_servers=args.servers,
        group_id=args.topic,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        **settings,
    )


def size_of(consumer: Any) -> int:
    """Polls once, and returns the number of partitions that the consumer owns. The poll may
    complete a rebalance.

    Raises Unexpected if the poll returns a record.
    """
    expect(not consumer.poll(100), "a record too early")
    return len(consumer.assignment())


def read(consumer: Any, seen: list[str]) -> int:
    """Polls once, appends the polled values to `seen`, and returns the length of `seen`."""
    for polled in consumer.poll(300).values():
        seen.extend(record.value.decode() for record in polled)
    return len(seen)


def committed(args: Args) -> int:
    """Returns the sum of the offsets that the scenario's group has committed."""
    admin = KafkaAdminClient(bootstrap_servers=args.servers)
    found = admin.list_group_offsets(args.topic)[args.topic]
    admin.close()
    return sum(max(place.offset, 0) for place in found.values())


def all_values(args: Args, topic: str) -> list[str]:
    """Returns the committed values of partition 0, below its last stable offset."""
    consumer = KafkaConsumer(bootstrap_servers=args.servers, isolation_level="read_committed")
    place = TopicPartition(topic, 0)
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    end = consumer.end_offsets([place])[place]
    seen: list[str] = []
    deadline = time.monotonic() + 30
    while consumer.position(place) < end:
        expect(time.monotonic() < deadline, f"the end {end} is not reached")
        read(consumer, seen)
    consumer.close()
    return seen


if __name__ == "__main__":
    run(
        {
            "metadata": metadata,
            "administration": administration,
            "records": records,
            "rebalance-classic": rebalance,
            "rebalance-cooperative": partial(
                rebalance, partition_assignment_strategy=[CooperativeStickyAssignor]
            ),
            "transaction": transaction,
            "abort-after-commit": abort_after_commit,
            "unknown-topic": unknown_topic,
            "too-large": too_large,
            "crash-of-leader": crash_of_leader,
            "crash-of-group-coordinator": crash_of_group_coordinator,
            "crash-of-transaction-coordinator": crash_of_transaction_coordinator,
        }
    )
